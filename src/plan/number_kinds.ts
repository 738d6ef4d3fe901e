/** Finds the items that `Prefer: numbers=string` shows as JSON strings. @module */
import { cachedColumn, type FieldScope } from "./fields.ts";
import type { NumberKind, PlannedField, PlannedValue, ReadItem } from "./read_node.ts";

/** Returns an item with its kind, unless its type is another one. */
export function withNumberKind(item: ReadItem, scope: FieldScope): ReadItem {
  if (item.kind === "all") return item;
  const number = kindOfItem(item, scope);
  return number === null ? item : { ...item, number };
}

/** Removes the kinds from items, for formats that are not JSON. */
export function withoutNumberKind(item: ReadItem): ReadItem {
  if (item.kind === "all" || item.number === undefined) return item;
  const { number: _, ...rest } = item;
  return rest;
}

function kindOfItem(
  item: Exclude<ReadItem, { kind: "all" }>,
  scope: FieldScope,
): NumberKind | null {
  switch (item.kind) {
    case "column":
      if (item.cast !== null) return kindOfCast(item.cast);
      return item.convert === null ? kindOfField(item.field, scope) : null;
    case "aggregate":
      if (item.cast !== null) return kindOfCast(item.cast);
      return item.function === "count" ? "number" : "unknown";
    case "value":
      return kindOfValue(item.value, scope);
    case "cursor":
      return null;
    default:
      return item satisfies never;
  }
}

function kindOfValue(value: PlannedValue, scope: FieldScope): NumberKind | null {
  switch (value.kind) {
    case "column":
      return kindOfField(value.field, scope);
    case "cast":
      return kindOfCast(value.type);
    default:
      return "unknown";
  }
}

/** Values inside JSON stay as they are. A name that is not a column may be a function of the row. */
function kindOfField({ column, path }: PlannedField, scope: FieldScope): NumberKind | null {
  if (path.length > 0) return null;
  const type = cachedColumn(column, scope)?.baseType;
  if (type === undefined) return "unknown";
  if (type === "bigint" || type === "numeric") return "number";
  if (type === "bigint[]" || type === "numeric[]") return "array";
  // The elements of an array of a user-defined type may be a domain over numbers.
  return type.endsWith("[]") && type.includes(".") ? "unknown" : null;
}

/** A cast to a user-defined type may be one to a domain over numbers. */
function kindOfCast(type: string): NumberKind {
  return /^(?:bigint|int8|numeric|decimal)$/i.test(type) ? "number" : "unknown";
}
