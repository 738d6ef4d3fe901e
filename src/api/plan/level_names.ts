/** Names at a level: columns, functions of the row, and keys of select items. @module */
import type { EmbedItem, FieldItem, KeyedItem } from "../request/url/query_types.ts";
import { castSteps } from "../request/url/value_grammar.ts";
import type { Value } from "../request/url/value_types.ts";
import type {
  QualifiedName,
  Relation,
  SchemaCache,
} from "../../state/schema_cache/schema_cache.ts";
import { keyOf, type LevelNames } from "./values/fields.ts";
import { hasAggregateCall } from "./values/values.ts";
import { isAggregateName } from "./values/value_functions.ts";

export function isKeyed(item: FieldItem): item is KeyedItem {
  return item.kind !== "all";
}

/** Names of a level without keys of select items. */
export const ownNames: LevelNames = { isOwn: () => true, item: () => undefined };

interface LevelRows {
  /** The relation of the rows; null if unknown. */
  readonly relation: Relation | null;
  /** Columns of rows that have no relation; null if unknown. */
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

/** Returns the names of an embed's level. Aggregates of a spread are omitted: they belong to a parent. */
export function embedNames(
  { item, relation, fields }: Pick<LevelRows, "relation"> & {
    readonly item: EmbedItem;
    readonly fields: readonly FieldItem[];
  },
  cache: SchemaCache,
): LevelNames {
  const named = item.kind === "spread"
    ? fields.filter((field) => isKeyed(field) && !isAggregateItem(field))
    : fields;
  return levelNames({ relation, columns: null }, named, cache);
}

export function valueOf(item: KeyedItem): Value {
  if (item.kind === "value") return item.value;
  return { field: item.field, steps: castSteps(item.cast) };
}

export function keyOfItem(item: KeyedItem): string {
  return item.alias ?? (item.kind === "field" ? keyOf(item.field) : keyOfValue(item.value));
}

function keyOfValue({ field, steps }: Value): string {
  for (const step of steps) {
    if (step.kind === "call" && isAggregateName(step.name)) return step.name;
  }
  return field === null ? "count" : keyOf(field);
}

export function isAggregateItem(item: KeyedItem): boolean {
  return item.kind === "value" && hasAggregateCall(item.value);
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
  return item.kind === "field" && item.cast === null &&
    item.field.path.length === 0 && (item.alias === null || item.alias === item.field.name);
}

function isColumnOrFunction(name: string, relation: Relation, cache: SchemaCache): boolean {
  return cache.column(relation, name) !== undefined || systemColumns.has(name) ||
    cache.derived(rowFunctionNames)(relation, name);
}

const systemColumns: ReadonlySet<string> = new Set(
  ["tableoid", "ctid", "xmin", "cmin", "xmax", "cmax"],
);

/** Returns a function that tests whether the search path has a row function for a relation. */
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
