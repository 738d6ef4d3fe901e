/**
 * The columns that `*` and `**` stand for: all of the rows, or those that the role may select, without
 * those that `-column` leaves out.
 *
 * @module
 */
import { errors } from "../errors/catalogue.ts";
import type { SelectItem } from "../request/query_types.ts";
import type { ResolvedNode } from "./resolved_tree.ts";
import type { SelectNode } from "./select_tree.ts";

/** Returns true if a select list, or that of an embed, contains `**`. */
export function namesSelectable(select: readonly SelectItem[]): boolean {
  return select.some((item) => {
    if (item.kind === "all") return item.only === "selectable";
    return (item.kind === "relation" || item.kind === "spread") && namesSelectable(item.select);
  });
}

/** Returns true if `*` does not stand for a column. */
export function isLeftOut(name: string, { leftOut }: Pick<SelectNode, "leftOut">): boolean {
  return leftOut.some(({ column }) => column === name);
}

/**
 * Returns the columns that `*` stands for; null if the columns of the rows are unknown. Throws `173` for
 * columns that are left out and are not among them.
 */
export function shownColumns(
  { leftOut, relation, origin }: ResolvedNode,
  known: ReadonlySet<string> | null,
): readonly string[] | null {
  const columns = relation?.columns.map(({ name }) => name) ?? (known === null ? null : [...known]);
  if (leftOut.length === 0) return columns;
  const names = new Set(columns);
  for (const { column, followsAll } of leftOut) {
    if (!followsAll || !names.has(column)) throw errors.cannotLeaveOut(column, origin.name);
  }
  const omitted = new Set(leftOut.map(({ column }) => column));
  return columns!.filter((name) => !omitted.has(name));
}
