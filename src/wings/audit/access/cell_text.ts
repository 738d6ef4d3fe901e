/** Cells of the access matrix as text. @module */
import type { AccessCell } from "./cells.ts";

/** Maximum number of relations that the console lists; also the maximum number of functions. */
export const maxListed = 500;

/** Returns `s*`: the letter of an action, with a mark that the legend explains. */
export function markOf({ action, may, columns, past }: AccessCell): string {
  if (may === "no") return "–";
  const letter = action === "execute" ? "x" : action[0]!;
  const rows = may === "all" ? letter.toUpperCase() : may === "none" ? `${letter}0` : letter;
  return rows + (columns === null ? "" : "*") + (past.length === 0 ? "" : "!");
}

/** Returns `columns id, title; rows by own_orders`, and then the SQL that grants access or corrects a view. */
export function mayText({ action, may, columns, policies, past, reason, sql }: AccessCell): string {
  if (may === "no") return `no: ${sql?.replaceAll(";\n", "; ") ?? reason}`;
  if (action === "execute") return "execute";
  const isByPolicies = may === "rows" && policies.length > 0;
  const rows = isByPolicies ? `rows by ${policyFormula(policies)}` : reason ?? "all rows";
  return [
    ...(columns === null ? [] : [`columns ${columns.join(", ")}`]),
    past.length > 0 ? `past policies of ${past.join(", ")}${sql === null ? "" : `: ${sql}`}` : rows,
  ].join("; ");
}

/** Returns how policies combine: `(doc_own or doc_team) and doc_not_archived`. */
export function policyFormula(policies: AccessCell["policies"]): string {
  const names = (isPermissive: boolean) =>
    policies.filter(({ permissive }) => permissive === isPermissive).map(({ name }) => name);
  const [either, each] = [names(true), names(false)];
  const any = either.join(" or ");
  return [either.length > 1 && each.length > 0 ? `(${any})` : any, ...each].join(" and ");
}
