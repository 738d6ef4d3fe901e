/** The policies that decide about the rows of a request. @module */
import type { DataPlan } from "../transaction/data_plan.ts";
import { whereOf } from "./needs.ts";
import type { Policy, RelationRights } from "./relation_facts.ts";

/** An expression of all policies of a command that a row must satisfy. */
export interface PolicyRule {
  readonly command: Exclude<Policy["command"], "*">;
  /** `check` is USING where a policy has no WITH CHECK. */
  readonly clause: "using" | "check";
}

const reading: PolicyRule = { command: "r", clause: "using" };

/**
 * Returns the rules for rows that exist, for new rows, and for rows that an upsert updates.
 *
 * Source: PostgreSQL documentation, CREATE POLICY, "Policies Applied by Command Type".
 */
export function rulesOf(plan: Extract<DataPlan, { kind: "read" | "mutate" }>) {
  if (plan.kind === "read") return { old: [reading], added: [], conflicting: [] };
  const { mutate } = plan;
  const { returning, kind } = mutate;
  const conflict = kind === "insert" ? mutate.conflict : null;
  const reads = (returning !== "none" && returning.length > 0) || whereOf(mutate).length > 0 ||
      conflict !== null
    ? [reading]
    : [];
  const using = (command: PolicyRule["command"]): PolicyRule => ({ command, clause: "using" });
  const check = (command: PolicyRule["command"]): PolicyRule => ({ command, clause: "check" });
  if (kind === "delete") return { old: [using("d"), ...reads], added: [], conflicting: [] };
  if (kind !== "insert") {
    return { old: [using("w"), ...reads], added: [check("w"), ...reads], conflicting: [] };
  }
  const isMerged = conflict?.resolution === "merge";
  return {
    old: [],
    added: [check("a"), ...isMerged ? [check("w")] : [], ...reads],
    conflicting: isMerged ? [using("w"), reading] : [],
  };
}

/** A policy with the expression that a rule takes of it. */
export interface RuleExpression {
  readonly policy: Policy;
  readonly expression: string;
}

/** Returns the policies of a rule that have an expression. */
export function expressionsOf(
  { policies }: Pick<RelationRights, "policies">,
  { command, clause }: PolicyRule,
): readonly RuleExpression[] {
  return policies.flatMap((policy) => {
    const expression = clause === "using" ? policy.using : policy.check ?? policy.using;
    const applies = policy.command === command || policy.command === "*";
    return applies && expression !== null ? [{ policy, expression }] : [];
  });
}

/** Returns `(doc_own or doc_team) and doc_not_archived`; null if no permissive policy applies. */
export function policyFormula(expressions: readonly RuleExpression[]): string | null {
  const names = (isPermissive: boolean) =>
    expressions.filter(({ policy }) => policy.isPermissive === isPermissive)
      .map(({ policy, expression }) => policy.name + (expression === "true" ? " (true)" : ""));
  const [permissive, restrictive] = [names(true), names(false)];
  if (permissive.length === 0) return null;
  const either = permissive.join(" or ");
  const isGrouped = permissive.length > 1 && restrictive.length > 0;
  return [isGrouped ? `(${either})` : either, ...restrictive].join(" and ");
}
