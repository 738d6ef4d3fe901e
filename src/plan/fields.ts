/**
 * Columns of a node, with the conversions that their types need.
 *
 * @module
 */
import type { Field, PathStep, SelectField } from "../request/query_types.ts";
import type { QualifiedName, Relation, SchemaCache } from "../schema_cache/schema_cache.ts";
import type { FieldItem } from "./select_tree.ts";
import type { PlannedField, ReadItem, RowType } from "./read_node.ts";

/** The scope that resolves the field names of a node. */
export interface FieldScope {
  /** The relation that has the columns; null when unknown. */
  readonly relation: Relation | null;
  /**
   * The type of the rows, when the rows come without it. Functions of a row need a cast to this
   * type. Null when the rows have their type.
   */
  readonly untypedRow: RowType | null;
  readonly cache: SchemaCache;
}

/** Plans a field. Unknown names pass to PostgreSQL, because a name may be a function of the row. */
export function planField({ name, path }: Field, scope: FieldScope): PlannedField {
  const type = cachedColumn(name, scope)?.declaredType;
  return {
    column: name,
    path,
    toJsonb: needsJsonb(path, type),
    computedOn: type === undefined ? scope.untypedRow : null,
  };
}

/** Plans a field of the order of a limited write. */
export function orderField({ name, path }: Field, { columns }: Relation): PlannedField {
  const type = columns.find((column) => column.name === name)?.declaredType;
  return { column: name, path, toJsonb: needsJsonb(path, type), computedOn: null };
}

function needsJsonb(path: readonly PathStep[], type: string | undefined): boolean {
  return path.length > 0 && type !== "json" && type !== "jsonb";
}

/** Returns the column of that name from the schema cache. */
export function cachedColumn(name: string, { relation, cache }: FieldScope) {
  return relation === null ? undefined : cache.column(relation, name);
}

/** Options of planning a select list. */
export interface SelectListOptions {
  /** True to plan `*` as a list of columns. */
  readonly expandAll: boolean;
}

/** Plans the select list of a node. */
export function planItems(
  fields: readonly FieldItem[],
  scope: FieldScope,
  { expandAll }: SelectListOptions,
): readonly ReadItem[] {
  return fields.flatMap((item) => {
    switch (item.kind) {
      case "all":
        return planAll(scope, expandAll);
      case "count":
        return [countItem(item.alias, item.cast)];
      case "field":
        return [item.aggregate === null ? columnItem(item, scope) : aggregateItem(item, scope)];
      default:
        return item satisfies never;
    }
  });
}

function planAll(scope: FieldScope, expandAll: boolean): readonly ReadItem[] {
  const { relation, cache } = scope;
  if (relation === null || !(expandAll || hasRepresentation(relation, cache))) {
    return [{ kind: "all" }];
  }
  return relation.columns.map(({ name }) => columnItem(plainField(name), scope));
}

/** Returns the select item of a column without alias, cast and aggregate. */
export function plainField(name: string): SelectField {
  return {
    kind: "field",
    field: { name, path: [] },
    alias: null,
    cast: null,
    aggregate: null,
    aggregateCast: null,
  };
}

function hasRepresentation({ columns }: Relation, cache: SchemaCache): boolean {
  if (cache.data.representations.length === 0) return false;
  return columns.some(({ declaredType }) => cache.representation(declaredType, "json"));
}

function columnItem(item: SelectField, scope: FieldScope): ReadItem {
  const field = planField(item.field, scope);
  return {
    kind: "column",
    field,
    convert: field.path.length > 0 ? null : outputFunction(field.column, scope),
    cast: item.cast,
    key: item.alias ?? keyOf(item.field),
    groupedByColumn: item.alias === null && field.path.length === 0,
  };
}

function outputFunction(column: string, scope: FieldScope): QualifiedName | null {
  const type = cachedColumn(column, scope)?.declaredType;
  return (type === undefined ? undefined : scope.cache.representation(type, "json")) ?? null;
}

function aggregateItem(item: SelectField, scope: FieldScope): ReadItem {
  return {
    kind: "aggregate",
    function: item.aggregate!,
    argument: { field: planField(item.field, scope), cast: item.cast },
    cast: item.aggregateCast,
    key: item.alias ?? item.aggregate!,
  };
}

function countItem(alias: string | null, cast: string | null): ReadItem {
  return { kind: "aggregate", function: "count", argument: null, cast, key: alias ?? "count" };
}

/** Returns the last key of a path, or the column's name when the path has no key. */
function keyOf({ name, path }: Field): string {
  const key = path.findLast(isKey);
  return key?.operand.key || name;
}

type KeyStep = PathStep & { readonly operand: { readonly kind: "key" } };

function isKey(step: PathStep): step is KeyStep {
  return step.operand.kind === "key";
}
