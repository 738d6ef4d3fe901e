/** Columns of a node, and paths into their values. @module */
import type { Relation, SchemaCache } from "../../../state/schema_cache/schema_cache.ts";
import type { PlannedField, PlannedValue, RowType } from "../read_node.ts";
import type { KeyedItem } from "../../request/url/query_types.ts";
import type { Field, PathStep } from "../../request/url/value_types.ts";

export interface LevelNames {
  readonly isOwn: (name: string) => boolean;
  /** Returns the item with this key, if the key is not its column's name; otherwise undefined. */
  readonly item: (key: string) => KeyedItem | undefined;
}

/** The scope in which field names of a node are resolved. */
export interface FieldScope {
  /** The relation of the columns; null if unknown. */
  readonly relation: Relation | null;
  /** Type to which an untyped row is cast for row functions; null if the row has a type. */
  readonly untypedRow: RowType | null;
  readonly cache: SchemaCache;
  /** Names that conditions and orders may use. */
  readonly names: LevelNames;
  readonly values: ValueRules;
  /** Whether conditions may use the row that an upsert proposes. Default: false. */
  readonly hasExcluded?: boolean;
}

export interface ValueRules {
  readonly texts: ReadonlyMap<string, string>;
  /** Functions that values may call; `*` means all functions. */
  readonly functions: readonly string[];
  readonly aggregates: boolean;
}

/** Plans a field. Unknown names are passed to PostgreSQL, because they may be row functions. */
export function planField({ name, path }: Field, scope: FieldScope): PlannedField {
  const type = cachedColumn(name, scope)?.declaredType;
  return {
    column: name,
    path,
    toJsonb: needsJsonb(path, type),
    computedOn: type === undefined ? scope.untypedRow : null,
  };
}

export function orderField({ name, path }: Field, { columns }: Relation): PlannedField {
  const type = columns.find((column) => column.name === name)?.declaredType;
  return { column: name, path, toJsonb: needsJsonb(path, type), computedOn: null };
}

/** Returns a value that has operators. A part of `json`, which lacks operators, is converted to `jsonb`. */
export function comparable(value: PlannedValue, scope: FieldScope): PlannedValue {
  if (value.kind !== "column" || value.field.path.at(-1)?.arrow !== "->") return value;
  if (cachedColumn(value.field.column, scope)?.declaredType !== "json") return value;
  return { ...value, field: { ...value.field, toJsonb: true } };
}

function needsJsonb(path: readonly PathStep[], type: string | undefined): boolean {
  return path.length > 0 && type !== "json" && type !== "jsonb";
}

export function cachedColumn(name: string, { relation, cache }: FieldScope) {
  return relation === null ? undefined : cache.column(relation, name);
}

export function keyOf({ name, path }: Field): string {
  const key = path.findLast(isKey);
  return key?.operand.key || name;
}

type KeyStep = PathStep & { readonly operand: { readonly kind: "key" } };

function isKey(step: PathStep): step is KeyStep {
  return step.operand.kind === "key";
}
