/** Findings in conditions of policies, and how to measure the gain of their SQL. @module */
import type { Finding } from "./finding.ts";
import { readPolicyText } from "./policy_text.ts";
import type { Catalogue, CostlyPolicy } from "./query.ts";

/** Two conditions to compare, or an index to test. All texts are SQL from the catalogue. */
export interface Experiment extends Pick<CostlyPolicy, "relation" | "owner" | "rows"> {
  readonly change: { readonly before: string; readonly after: string } | {
    readonly columns: string;
  };
}

/** A finding, and how to measure its gain; null if it cannot be measured. */
export type PolicyFinding = readonly [finding: Finding, experiment: Experiment | null];

/** Number of rows from which a slow condition is a warning. */
const warnedRows = 10_000;

export function policyFindings(
  { policies, volatileFunctions }: Pick<Catalogue, "policies" | "volatileFunctions">,
): readonly PolicyFinding[] {
  const volatile = new Set(volatileFunctions);
  return policies.flatMap((policy) => {
    const calls = new Set(["current_setting", ...policy.calls]);
    const read = policy.conditions.map((text) =>
      text === null ? null : readPolicyText(text, { calls, volatile })
    );
    return [
      ...read.some((each) => each !== null && each.count > 0) ? [perRowFinding(policy, read)] : [],
      ...indexFindings(policy),
    ];
  });
}

function perRowFinding(
  { label, policy, relation, owner, rows, isVolatile, conditions }: CostlyPolicy,
  read: readonly (ReturnType<typeof readPolicyText> | null)[],
): PolicyFinding {
  const isSafe = !isVolatile && read.every((each) => !each?.count || each.wrapped !== null);
  const [using, check] = read.map((each) => each?.count ? each.wrapped : null);
  const clauses = (using ? ` using (${using})` : "") + (check ? ` with check (${check})` : "");
  const change = isSafe && using ? { before: conditions[0]!, after: using } : null;
  return [{
    name: "policy-per-row",
    level: rows >= warnedRows ? "warn" : "info",
    subject: label,
    message:
      `the policy ${label} computes for each row what is the same for all: put it in (select …)`,
    sql: isSafe ? `alter policy ${policy} on ${relation}${clauses};` : null,
  }, change && { relation, owner, rows, change }];
}

/** Lists columns that a policy compares with one value, so that an index would help. */
function indexFindings(
  { label, relation, owner, rows, columns, isPartitioned, conditions: [condition] }: CostlyPolicy,
): readonly PolicyFinding[] {
  const text = condition ?? "";
  const isCompared = (operand: string) =>
    / = (?=[^'\d])/.test(text.split(`(${operand}`)[1]?.slice(0, 4) ?? "") ||
    text.includes(` = ${operand})`);
  const operands = /\b(OR|NOT|CASE)\b/.test(text) ? [] : Object.keys(columns).filter(isCompared);
  return operands.map((operand) => [{
    name: "policy-index",
    level: "info",
    subject: `${columns[operand]} of ${label}`,
    message: `the policy ${label} compares ${columns[operand]}, and no index begins with it`,
    sql: `create index ${isPartitioned ? "" : "concurrently "}on ${relation} (${
      columns[operand]
    });`,
  }, { relation, owner, rows, change: { columns: columns[operand]! } }]);
}
