/** Plans the cursors of the root: its total order, and where a page begins. @module */
import { errors } from "../../../base/errors/catalogue.ts";
import { maxCursorKeys, readCursor } from "../../request/url/cursor_text.ts";
import { cachedColumn, planField } from "../values/fields.ts";
import { orderKey } from "./order_key.ts";
import { isDistance } from "../values/planned_values.ts";
import {
  type CursorPage,
  type CursorTerm,
  type NodeCursor,
  type PlannedField,
  type PlannedOrder,
  type ReadNode,
} from "../read_node.ts";
import type { SelectNode } from "./resolved_tree.ts";
import type { Relation } from "../../../state/schema_cache/schema_cache.ts";

export interface CursorPlace {
  /** The relation or function from which the root reads. */
  readonly source: readonly string[];
  /**
   * Whether the rows may violate the constraints of the relation, because a function returns them.
   */
  readonly isSupplied: boolean;
  /** Whether the root has an offset. */
  readonly hasOffset: boolean;
}

/** A planned node without its cursors. */
export interface UnpagedNode extends Pick<ReadNode, "order" | "distinct"> {
  /** Whether the node has aggregates. */
  readonly grouped: boolean;
}

/** Throws `171` for parameters that cannot be combined with a cursor. */
function checkCursor(
  { after, before }: SelectNode,
  { order, distinct, grouped }: UnpagedNode,
  { hasOffset }: Pick<CursorPlace, "hasOffset">,
): void {
  if (after !== null && before !== null) throw errors.cursorConflict("another cursor");
  if (grouped) throw errors.cursorConflict("aggregates");
  if (distinct !== null) throw errors.cursorConflict("'distinct'");
  if (hasOffset) throw errors.cursorConflict("an offset");
  // Pages by distance would lack rows: an approximate index finds only few for a condition.
  if (order.some((term) => term.kind === "value" && isDistance(term.value))) {
    throw errors.cursorConflict("a distance order");
  }
}

/** Plans the cursors of the root, and makes its order total. Throws `168` to `171`, and `177`. */
export function planCursor(
  node: SelectNode,
  planned: UnpagedNode,
  place: CursorPlace,
): { readonly order: readonly PlannedOrder[]; readonly cursor: NodeCursor } {
  checkCursor(node, planned, place);
  const order = [...planned.order, ...completion(node, planned.order, place)];
  if (order.length > maxCursorKeys) throw errors.queryTooComplex(maxCursorKeys, "keys in a cursor");
  const described = order.map((term, index) => describe(term, node.order[index]));
  // The placeholders `[]` and `null` keep cursors of earlier versions valid.
  const fingerprint = fnv1a(JSON.stringify([place.source, [], described, null]));
  const terms = order.map((term) => cursorTerm(term, node, place));
  const page = pageOf(node, fingerprint, order);
  return { order, cursor: { fingerprint, terms, page } };
}

/** Returns the page that a node requests. Throws `168` and `169`. */
function pageOf(
  { after, before }: SelectNode,
  fingerprint: string,
  { length }: readonly PlannedOrder[],
): CursorPage {
  const direction = after === null ? "before" : "after";
  const text = after ?? before!;
  if (text === "") return { direction, keys: null };
  const position = readCursor(text);
  if (position === undefined) throw errors.invalidCursor();
  const { keys } = position;
  if (position.fingerprint !== fingerprint || keys.length !== length) throw errors.otherCursor();
  return { direction, keys };
}

/** Returns the terms that an order needs to be total. Throws `170`. */
function completion(
  node: SelectNode,
  order: readonly PlannedOrder[],
  place: CursorPlace,
): readonly PlannedOrder[] {
  const columns = new Set(order.flatMap(columnOf));
  const key = node.relation === null ? null : orderKey(node.relation, columns);
  if (key === null) throw errors.noKey(node.origin.name);
  const names = hasTable(node.relation, place) ? [...key, tableColumn] : key;
  return names.filter((name) => !columns.has(name)).map((name) => {
    const field = planField({ name, path: [] }, node);
    return { kind: "value", value: { kind: "column", field }, direction: null, nulls: null };
  });
}

const tableColumn = "tableoid";

function hasTable(relation: Relation | null, { isSupplied }: CursorPlace): boolean {
  return relation?.isInherited === true && !isSupplied;
}

function columnOf(term: PlannedOrder): readonly string[] {
  const field = fieldOf(term);
  return field?.path.length === 0 ? [field.column] : [];
}

function fieldOf(term: PlannedOrder): PlannedField | null {
  return term.kind === "value" && term.value.kind === "column" ? term.value.field : null;
}

function describe(
  term: PlannedOrder,
  requested: SelectNode["order"][number] | undefined,
): unknown {
  const { direction, nulls, ...value } = term;
  const place = [direction ?? "asc", nulls ?? (direction === "desc" ? "first" : "last")];
  const field = fieldOf(term);
  // A field keeps the form of earlier versions, so that their cursors stay valid.
  if (field !== null) return [{ kind: "field", field }, ...place];
  // An embed is identified by its name, because its position depends on `select`.
  const named = requested !== undefined && JSON.stringify(value).includes('"kind":"related"');
  return [named ? [requested.relation, requested.field, requested.operand] : value, ...place];
}

/** Returns how the value of a term becomes a key. Values of unknown columns may be NULL. */
function cursorTerm(term: PlannedOrder, node: SelectNode, place: CursorPlace): CursorTerm {
  const field = fieldOf(term);
  if (field === null) return { nullable: true, text: "by-type" };
  if (field.path.length > 0) return { nullable: true, text: "cast" };
  if (field.column === tableColumn && hasTable(node.relation, place)) {
    return { nullable: false, text: "cast" };
  }
  const column = cachedColumn(field.column, node);
  if (column === undefined) return { nullable: true, text: "by-type" };
  const text = dateTypes.has(column.baseType) ? "json" : "cast";
  return { nullable: place.isSupplied || column.nullable, text };
}

/** Types whose text depends on the setting `DateStyle`. */
const dateTypes: ReadonlySet<string> = new Set([
  "date",
  "timestamp without time zone",
  "timestamp with time zone",
]);

/** Returns the 32-bit hash of a text's UTF-8 bytes, as eight hexadecimal digits. */
function fnv1a(text: string): string {
  let hash = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(text)) {
    hash = Math.imul(hash ^ byte, 0x01000193);
  }
  return (hash >>> 0).toString(16).padStart(8, "0");
}
