/** Words the explanation of an answer. @module */
import { printable } from "../lib/printable.ts";
import { type CaseAnswer, rowsText } from "../policy_test/expectation.ts";
import type { DryRun } from "./dry_run.ts";
import type { Need } from "./needs.ts";
import type { RelationRights, RoutineFacts } from "./relation_facts.ts";
import { expressionsOf, policyFormula, type PolicyRule } from "./request_policies.ts";
import { maxRows, type RowResult } from "./row_results.ts";

/** The answer to a request, and the rows that it concerns; null if they are unknown. */
export interface Outcome {
  readonly answer: CaseAnswer;
  readonly dry: DryRun;
  readonly role: string;
  readonly rows: readonly RowResult[] | null;
}

/** Returns the lines about the answer. */
export function answerLines({ answer, dry, role, rows }: Outcome): readonly string[] {
  const isWrite = dry.batch?.access === "read write";
  const isRefused = rows?.some(({ kind, isAllowed }) => kind !== "row" && !isAllowed) === true;
  const { status, code, message } = answer;
  const head = dry.isPlanned
    ? isRefused ? "403 42501: a row violates row level security" : "no privilege is missing"
    : code !== null
    ? `${status} ${code}: ${printable(message ?? "")}`
    : [status, ...answer.rows === null ? [] : [rowsText(answer.rows)]].join(", ");
  const old = rows?.filter(({ kind }) => kind === "row") ?? null;
  const hidden = old?.filter(({ isAllowed }) => !isAllowed).length ?? 0;
  const more = answer.rows === null || answer.rows === 0 ? "" : " more";
  const clause = hidden > 0
    ? `; ${hidden === maxRows ? "at least " : ""}${hidden}${more} ${
      hidden === 1 ? "row matches the filter and is" : "rows match the filter and are"
    } hidden from ${role}`
    : rows?.length === 0
    ? "; no row matches the filter"
    : "";
  return [
    `${head}${isWrite ? " (not executed)" : ""}${clause}`,
    ...dry.leftOutPreRequest ? ["db-pre-request writes, so it was not run"] : [],
  ];
}

/** Returns the lines about a relation, with the GRANT of each lacking privilege. */
export function relationLines(
  facts: RelationRights,
  needs: readonly Need[],
  rules: readonly PolicyRule[],
): readonly string[] {
  const { schema, name, role, quoted, hasSchemaUsage, granted } = facts;
  const actions = [...new Set(needs.map(({ action }) => action))];
  const lacking = (need: Need) =>
    need.columns.filter((column) =>
      need.action !== "delete" && !granted[need.action].includes(column)
    );
  const missing = needs.filter((need) => isPartly(facts, need.action) && lacking(need).length > 0);
  const grants = actions.flatMap((action) => {
    const columns = missing.filter((need) => need.action === action).flatMap(lacking);
    if (hasNone(facts, action)) return [`grant ${action} on ${quoted.relation} to ${quoted.role};`];
    if (columns.length === 0) return [];
    const list = [...new Set(columns)].map((column) => quoted.columns[column]).join(", ");
    const choice = action === "select"
      ? `    -- or request &select=${granted.select.join(",")}`
      : "";
    return [`grant ${action} (${list}) on ${quoted.relation} to ${quoted.role};${choice}`];
  });
  const parts = [
    ...hasSchemaUsage ? [] : [`${role} has no USAGE on schema ${schema}`],
    ...actions.map((action) => grantedText(facts, action)),
    ...missing.map((need) => {
      const columns = lacking(need);
      return `${need.use} ${columns.join(", ")}, which ${
        columns.length === 1 ? "is" : "are"
      } not granted`;
    }),
    ...policyTexts(facts, rules),
  ];
  const usage = `grant usage on schema ${quoted.schema} to ${quoted.role};`;
  return [
    printable(`${schema}.${name}: ${parts.join("; ")}`),
    ...[...hasSchemaUsage ? [] : [usage], ...grants].map((text) => `    ${text}`),
  ];
}

function hasNone({ granted, mayDelete }: RelationRights, action: Need["action"]): boolean {
  return action === "delete" ? !mayDelete : granted[action].length === 0;
}

function isPartly(facts: RelationRights, action: Need["action"]): boolean {
  return action !== "delete" && !hasNone(facts, action);
}

function grantedText(facts: RelationRights, action: Need["action"]): string {
  if (hasNone(facts, action)) return `${action} not granted`;
  const own = action === "delete" ? [] : facts.granted[action];
  const isWhole = action === "delete" || own.length === Object.keys(facts.quoted.columns).length;
  return `${action} granted${isWhole ? "" : ` on ${own.join(", ")}`}`;
}

/** Texts of rules; equal ones appear once. */
function policyTexts(facts: RelationRights, rules: readonly PolicyRule[]): readonly string[] {
  if (!facts.arePoliciesApplied) return [];
  const formulas = rules.map((rule) => policyFormula(expressionsOf(facts, rule)));
  if (formulas[0] !== null && new Set(formulas).size === 1) return [`policies ${formulas[0]}`];
  return [
    ...new Set(
      rules.map(({ command }, index) =>
        formulas[index] === null
          ? `no policy for ${commandNames[command]} applies to ${facts.role}`
          : `policies for ${commandNames[command]} ${formulas[index]}`
      ),
    ),
  ];
}

const commandNames = { r: "select", a: "insert", w: "update", d: "delete" } as const;

/** Returns a line for each policy on the first rows that are hidden or refused. */
export function rowLines(rows: readonly RowResult[], { key }: RelationRights): readonly string[] {
  const failed = rows.filter(({ isAllowed }) => !isAllowed).slice(0, 5);
  return failed.flatMap(({ kind, values, policies }) => {
    const names = key.length > 0 ? key : Object.keys(values).slice(0, 2);
    const identity = names.map((name) => `${name}=${valueText(values[name])}`).join(" ");
    const label = kind === "new row" ? "new row" : identity;
    return policies.map(({ policy, expression, result }, index) => {
      const start = index === 0 ? label : " ".repeat(label.length);
      const read = policy.columns.map((name) => `${name} = ${valueText(values[name])}`);
      const reason = result === "true" ? "" : `: ${[expression, ...read].join(", ")}`;
      return printable(`  ${start}  ${policy.name} ${result}${reason}`);
    });
  });
}

/** Values are at most 60 characters long. */
function valueText(value: unknown): string {
  const text = JSON.stringify(value ?? null);
  return text.length <= 60 ? text : `${text.slice(0, 60)}…`;
}

/** Returns the lines about a function. */
export function routineLines({ name, role, mayExecute, definer }: RoutineFacts): readonly string[] {
  return [
    `${name}: execute ${
      mayExecute ? "" : "not "
    }granted; its body, which is not checked, runs as ` +
    (definer ?? role),
    ...mayExecute ? [] : [`    grant execute on function ${name} to ${role};`],
  ];
}
