/** The columns that `*` and `**` select. @module */
import { errors } from "../../../base/errors/catalogue.ts";
import type { SelectItem } from "../../request/url/query_types.ts";
import type { SchemaCache, SelectableColumns } from "../../../state/schema_cache/schema_cache.ts";
import type { ResolvedNode } from "./resolved_tree.ts";
import { hasRepresentation, type SelectListOptions } from "./select_list.ts";
import type { SelectNode } from "./select_tree.ts";

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

/** The properties of a node and its request that decide what `*` and `**` become. */
export interface ShownContext {
  readonly cache: SchemaCache;
  /** Purpose of the rows that the caller supplies for the root; null if the root reads a relation. */
  readonly rows: "read" | "result" | "representation" | null;
  readonly expandAll: boolean;
  /** Columns of the root's rows if they have no relation; null if unknown. */
  readonly columns: ReadonlySet<string> | null;
  /** Columns that the role may select; null if they are unknown. */
  readonly selectable: SelectableColumns | null;
}

/** Returns the options of a node's select list. Throws `173`. */
export function selectListOptions(node: ResolvedNode, context: ShownContext): SelectListOptions {
  const { relation, leftOut, fields } = node;
  const { cache, expandAll, rows } = context;
  const isResult = node.item === null ? rows === "result" : node.relationship.kind === "computed";
  const namesRestricted = fields.some((item) => item.kind === "all" && item.only !== undefined);
  const selectable = namesRestricted && !isResult && relation !== null
    ? context.selectable?.of(relation) ?? null
    : null;
  const names = node.item === null ? context.columns : null;
  const isConverted = relation !== null && hasRepresentation(relation, cache);
  const isListed = expandAll || isConverted || leftOut.length > 0 || selectable !== null;
  return { columns: isListed ? shownColumns(node, names) : null, selectable };
}
