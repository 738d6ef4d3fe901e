/** The columns that `*` and `**` select. @module */
import { errors } from "../../../base/errors/catalogue.ts";
import type { SelectItem } from "../../request/url/query_types.ts";
import type { SelectableColumns } from "../../../state/schema_cache/schema_cache.ts";
import type { SelectNode } from "./resolved_tree.ts";
import { hasRepresentation, type SelectListOptions } from "./select_list.ts";

export function namesSelectable(select: readonly SelectItem[]): boolean {
  return select.some((item) => {
    if (item.kind === "all") return item.only === "selectable";
    return (item.kind === "relation" || item.kind === "spread") && namesSelectable(item.select);
  });
}

/** Returns whether `*` leaves a column out. */
export function isLeftOut(name: string, { leftOut }: Pick<SelectNode, "leftOut">): boolean {
  return leftOut.some(({ column }) => column === name);
}

/** Returns the columns that `*` selects; null if they are unknown. Throws `173` for left out
 * columns that do not exist. */
function shownColumns(
  { leftOut, relation, columns: known, origin }: SelectNode,
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

/** The properties of a request that decide what `*` and `**` become. */
export interface ShownContext {
  readonly expandAll: boolean;
  /** Columns that the role may select; null if they are unknown. */
  readonly selectable: SelectableColumns | null;
}

/** Returns the options of a node's select list. Throws `173`. */
export function selectListOptions(node: SelectNode, context: ShownContext): SelectListOptions {
  const { relation, leftOut, fields, supply, cache } = node;
  const namesRestricted = fields.some((item) => item.kind === "all" && item.only !== undefined);
  const selectable = namesRestricted && supply !== "result" && relation !== null
    ? context.selectable?.of(relation) ?? null
    : null;
  const isConverted = relation !== null && hasRepresentation(relation, cache);
  const isListed = context.expandAll || isConverted || leftOut.length > 0 || selectable !== null;
  return { columns: isListed ? shownColumns(node) : null, selectable };
}
