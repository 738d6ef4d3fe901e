/** Words the explanation of a response. @module */
import { policyFormula } from "../access/cell_text.ts";
import { type CaseAnswer, rowsText } from "../policy_test/expectation.ts";
import { nameText } from "../../../base/sql/name_text.ts";
import type { DryRun } from "./dry_run.ts";
import type { Need, TableTraits } from "./needs.ts";
import { type Cells, maxRows, type RowResult } from "./row_results.ts";

/** The response to a request, and the rows that it concerns; null if unknown. */
export interface Outcome {
  readonly answer: Omit<CaseAnswer, "json">;
  readonly dry: DryRun;
  readonly role: string;
  readonly rows: readonly RowResult[] | null;
  /** A clause about rows that the response leaves out, possibly empty. */
  readonly leftOut: string;
}

/** Returns the lines about the response. */
export function answerLines({ answer, dry, role, rows, leftOut }: Outcome): readonly string[] {
  const isRefused = rows?.some(({ kind, isAllowed }) => kind !== "row" && !isAllowed) === true;
  const { status, code, message } = answer;
  const head = dry.isPlanned
    ? isRefused ? "403 42501: a row violates row level security" : "no privilege is missing"
    : code !== null
    ? `${status} ${code}: ${message}`
    : [status, ...answer.rows === null ? [] : [rowsText(answer.rows)]].join(", ");
  const hidden = rows?.filter(({ kind, isAllowed }) => kind === "row" && !isAllowed).length ?? 0;
  const more = (answer.rows ?? 0) === 0 ? "" : " more";
  const verbs = hidden === 1 ? "row matches the filter and is" : "rows match the filter and are";
  const number = `${hidden === maxRows ? "at least " : ""}${hidden}${more}`;
  const ending = dry.transaction?.access === "read write" ? " (not executed)" : leftOut;
  const matches = hidden > 0
    ? `; ${number} ${verbs} hidden from ${role}`
    : rows?.length === 0
    ? "; no row matches the filter"
    : "";
  const preRequest = dry.leftOutPreRequest ? ["db-pre-request writes, so it was not run"] : [];
  return [`${head}${ending}${matches}`, ...preRequest];
}

/** Returns the lines about a relation, with a GRANT for each missing privilege. */
export function relationLines(
  cells: Cells,
  needs: readonly Need[],
  traits: TableTraits | null,
): readonly string[] {
  const used = [...new Set(needs.map(({ action }) => action))]
    .flatMap((action) => cells.get(action) ?? []);
  const missing = needs.flatMap(({ action, columns, use }) => {
    const granted = cells.get(action)?.columns;
    const names = columns.map((name) => nameText(name)).filter((name) => !granted?.includes(name));
    return granted && names.length > 0 ? [{ action, names, use }] : [];
  });
  const grants = used.flatMap(({ action, relation, role, columns, sql, may }) => {
    if (may === "no") return sql?.split("\n") ?? [];
    const needs = missing.filter((need) => need.action === action).flatMap(({ names }) => names);
    const choice = action === "select" ? `    -- or request &select=${columns?.join(",")}` : "";
    const list = [...new Set(needs)].join(", ");
    return list === "" ? [] : [`grant ${action} (${list}) on ${relation} to ${role};${choice}`];
  });
  const denied = used.flatMap(({ role, policies }) =>
    policies.flatMap(({ name }) => traits?.deniedFunctions?.[name] ?? [])
      .map((name) => ({ name, grant: `grant execute on function ${name} to ${role};` }))
  );
  const texts = [
    ...used.map(({ action, may, columns, reason }) =>
      may === "no"
        ? reason
        : `${action} granted${columns === null ? "" : ` on ${columns.join(", ")}`}`
    ),
    ...missing.map(({ use, names }) => `${use} ${names.join(", ")}, without a grant`),
    ...used.flatMap(({ action, may, policies, reason }) =>
      may === "rows" && reason === null
        ? [`policies ${used.length > 1 ? `for ${action} ` : ""}${policyFormula(policies)}`]
        : reason ?? []
    ),
    ...denied.map(({ name }) => `a policy calls ${name}, without a grant`),
  ];
  return [
    ...used.slice(0, 1).map(({ relation }) => `${relation}: ${[...new Set(texts)].join("; ")}`),
    ...new Set([...grants, ...denied.map(({ grant }) => grant)].map((text) => `    ${text}`)),
  ];
}

/** Returns a line for each policy on the first hidden or refused rows. */
export function rowLines(
  rows: readonly RowResult[],
  key: readonly string[],
  traits: TableTraits | null,
): readonly string[] {
  const failed = rows.filter(({ isAllowed }) => !isAllowed).slice(0, 5);
  return failed.flatMap(({ kind, values, policies }) => {
    const text = (name: string, sign: string) => `${name}${sign}${valueText(values[name])}`;
    const names = key.length > 0 ? key : Object.keys(values).slice(0, 2);
    const label = kind === "new row" ? kind : names.map((name) => text(name, "=")).join(" ");
    return policies.map(({ name, expression, result }, at) => {
      const start = at === 0 ? label : " ".repeat(label.length);
      const read = (traits?.policyColumns?.[name] ?? []).map((column) => text(column, " = "));
      const reason = result === "true" ? "" : `: ${[unfolded(expression), ...read].join(", ")}`;
      return `  ${start}  ${name} ${result}${reason}`;
    });
  });
}

/** Puts an expression on one line. PostgreSQL prints subqueries on several lines. */
function unfolded(expression: string): string {
  return expression.replace(/("[^"]*"|'[^']*')|\n\s*/g, (_, quoted) => quoted ?? " ");
}

/** Returns a value, cut after 60 characters. */
function valueText(value: unknown): string {
  const text = JSON.stringify(value ?? null);
  return text.length <= 60 ? text : `${text.slice(0, 60)}…`;
}
