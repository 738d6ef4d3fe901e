/** Names at a level: columns, functions of the row, and keys of select items. @module */
import type { Field, SelectCount, SelectField, SelectValue } from "../request/url/query_types.ts";
import type { Value, ValueStep } from "../request/url/value_types.ts";
import type { QualifiedName, Relation, SchemaCache } from "../schema_cache/schema_cache.ts";
import { keyOf } from "./fields.ts";
import type { ResolvedEmbed } from "./resolved_tree.ts";
import type { FieldItem } from "./select_tree.ts";
import { hasAggregateCall } from "./values.ts";
import { isAggregateName } from "./value_functions.ts";

export type KeyedItem = SelectField | SelectCount | SelectValue;

export function isKeyed(item: FieldItem): item is KeyedItem {
  return item.kind !== "all";
}

export interface LevelNames {
  readonly isOwn: (name: string) => boolean;
  /** Returns the item whose key is not the name of its column; undefined without such an item. */
  readonly item: (key: string) => KeyedItem | undefined;
}

/** Names of a level whose items cannot be named. */
export const ownNames: LevelNames = { isOwn: () => true, item: () => undefined };

interface LevelRows {
  /** Null when unknown. */
  readonly relation: Relation | null;
  /** Columns of rows without a relation; null when unknown. */
  readonly columns: ReadonlySet<string> | null;
}

export function levelNames(
  { relation, columns }: LevelRows,
  fields: readonly FieldItem[],
  cache: SchemaCache,
): LevelNames {
  let items: ReadonlyMap<string, KeyedItem> | undefined;
  return {
    isOwn: (name) =>
      relation === null
        ? columns === null || columns.has(name)
        : isColumnOrFunction(name, relation, cache),
    item: (key) => (items ??= itemsByKey(fields)).get(key),
  };
}

/** Returns the names of an embed's level. The node that groups has the aggregates of a spread. */
export function embedNames(
  { item, relation, fields }: Pick<ResolvedEmbed, "item" | "relation" | "fields">,
  cache: SchemaCache,
): LevelNames {
  const named = item.kind === "spread"
    ? fields.filter((field) => isKeyed(field) && !isAggregateItem(field))
    : fields;
  return levelNames({ relation, columns: null }, named, cache);
}

export function valueOf(item: KeyedItem): Value {
  switch (item.kind) {
    case "value":
      return item.value;
    case "count":
      return { field: null, steps: castSteps(item.cast) };
    case "field": {
      const call: readonly ValueStep[] = item.aggregate === null
        ? []
        : [{ kind: "call", name: item.aggregate, arguments: [] }];
      const steps = [...castSteps(item.cast), ...call, ...castSteps(item.aggregateCast)];
      return { field: item.field, steps };
    }
    default:
      return item satisfies never;
  }
}

export function keyOfItem(item: KeyedItem): string {
  if (item.alias !== null) return item.alias;
  if (item.kind === "field") return item.aggregate ?? keyOf(item.field);
  return item.kind === "count" ? "count" : keyOfValue(item.value);
}

function keyOfValue({ field, steps }: Value): string {
  for (const step of steps) {
    if (step.kind === "call" && isAggregateName(step.name)) return step.name;
  }
  return field === null ? "count" : keyOf(field);
}

export function isAggregateItem(item: KeyedItem): boolean {
  if (item.kind === "field") return item.aggregate !== null;
  return item.kind === "count" || hasAggregateCall(item.value);
}

function castSteps(type: string | null): readonly ValueStep[] {
  return type === null ? [] : [{ kind: "cast", type }];
}

function itemsByKey(fields: readonly FieldItem[]): ReadonlyMap<string, KeyedItem> {
  const items = new Map<string, KeyedItem>();
  for (const item of fields) {
    if (!isKeyed(item) || isPlainColumn(item)) continue;
    const key = keyOfItem(item);
    if (!items.has(key)) items.set(key, item);
  }
  return items;
}

function isPlainColumn(item: KeyedItem): boolean {
  return item.kind === "field" && item.aggregate === null && item.cast === null &&
    item.field.path.length === 0 && (item.alias === null || item.alias === item.field.name);
}

function isColumnOrFunction(name: string, relation: Relation, cache: SchemaCache): boolean {
  return cache.column(relation, name) !== undefined || systemColumns.has(name) ||
    cache.derived(rowFunctionNames)(relation, name);
}

const systemColumns: ReadonlySet<string> = new Set(
  ["tableoid", "ctid", "xmin", "cmin", "xmax", "cmax"],
);

/** Returns a test whether a function of the search path takes a row of a relation. */
function rowFunctionNames({ data }: SchemaCache): (
  relation: QualifiedName,
  name: string,
) => boolean {
  const anyRow = new Set<string>();
  const names = new Set<string>();
  for (const { name, relation } of data.rowFunctions ?? []) {
    if (relation === null) anyRow.add(name);
    else names.add(`${relation.schema}\0${relation.name}\0${name}`);
  }
  return ({ schema, name: relation }, name) =>
    anyRow.has(name) || names.has(`${schema}\0${relation}\0${name}`);
}

export function isSameField(one: Field, other: Field): boolean {
  return one.name === other.name && JSON.stringify(one.path) === JSON.stringify(other.path);
}
