/** The select list of a node, with the conversions that the types of columns need. @module */
import type {
  FieldItem,
  SelectAll,
  SelectField,
  SelectValue,
} from "../../request/url/query_types.ts";
import type {
  QualifiedName,
  Relation,
  SchemaCache,
} from "../../../state/schema_cache/schema_cache.ts";
import { cachedColumn, type FieldScope, keyOf, planField } from "../values/fields.ts";
import { keyOfItem } from "../level_names.ts";
import type { Condition, ReadItem } from "../read_node.ts";
import { planValue } from "../values/values.ts";

export interface SelectListOptions {
  /** The columns that replace `*`; null if PostgreSQL expands `*`. */
  readonly columns: readonly string[] | null;
  /** The columns to which `**` is limited; null for the columns of `*`. */
  readonly selectable?: ReadonlySet<string> | null;
  readonly filters?: AggregateFilters;
}

export type AggregateFilters = ReadonlyMap<string, readonly Condition[]>;

export const noFilters: AggregateFilters = new Map();

export function planItems(
  fields: readonly FieldItem[],
  scope: FieldScope,
  options: SelectListOptions,
): readonly ReadItem[] {
  const { filters = noFilters } = options;
  return fields.flatMap((item): readonly ReadItem[] => {
    switch (item.kind) {
      case "all":
        return planAll(item, scope, options);
      case "field":
        return [columnItem(item, scope)];
      case "value":
        return [valueItem(item, scope, filters)];
      default:
        return item satisfies never;
    }
  });
}

function planAll(
  { only }: SelectAll,
  scope: FieldScope,
  { columns, selectable = null }: SelectListOptions,
): readonly ReadItem[] {
  if (columns === null) return [{ kind: "all" }];
  const restricted = only === "selectable" ? selectable : null;
  const names = restricted === null ? columns : columns.filter((name) => restricted.has(name));
  return names.map((name) => columnItem(plainField(name), scope));
}

/** Returns a select item of a column, without alias and cast. */
export function plainField(name: string): SelectField {
  return { kind: "field", field: { name, path: [] }, alias: null, cast: null };
}

/** Returns whether columns of a relation need a conversion to JSON. */
export function hasRepresentation({ columns }: Relation, cache: SchemaCache): boolean {
  if (cache.data.representations.length === 0) return false;
  return columns.some(({ declaredType }) => cache.representation(declaredType, "json"));
}

function valueItem(item: SelectValue, scope: FieldScope, filters: AggregateFilters): ReadItem {
  const place = {
    takesAggregate: true,
    filter: item.alias === null ? [] : filters.get(item.alias) ?? [],
  };
  return { kind: "value", value: planValue(item.value, scope, place), key: keyOfItem(item) };
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
