/** Builds relations from rows of the catalogue. @module */
import type { Column, Relation } from "./schema_cache.ts";
import type { TagValues } from "./comment_tags.ts";
import type { UniqueIndexRow } from "./queries/keys.ts";
import { getOrMake } from "../../base/lib/group_by.ts";
import { mapSliced, type SlicedWork } from "../../base/lib/slices.ts";
import type { ColumnRow, EnumLabels, RelationRow } from "./queries/relations.ts";
import type { RelationshipEnd } from "./relationships.ts";
import type { ViewColumns } from "./view_columns.ts";

/** Attribute numbers of primary keys by the table's oid. */
type PrimaryKeys = ReadonlyMap<number, readonly number[]>;

/** Further properties of relations, each by the oid of the relation. */
interface RelationTraits {
  readonly volatile: ReadonlySet<number>;
  readonly sessionReads: ReadonlySet<number>;
  readonly sessionWrites: ReadonlySet<number>;
  readonly primary: ReadonlySet<number>;
  readonly onWorkers: ReadonlySet<number>;
  readonly tags: ReadonlyMap<number, TagValues>;
  /** See `Relation.hiddenJunctionsTo`. */
  readonly hiddenJunctions: ReadonlyMap<number, ReadonlySet<string>>;
  readonly uniqueIndexes: ReadonlyMap<number, readonly UniqueIndexRow[]>;
  readonly enums: EnumLabels;
}

/** Builds the relations from rows. `ends` has the keys of the relations, in the order of the rows. */
export function buildRelations(
  rows: readonly RelationRow[],
  ends: readonly RelationshipEnd[],
  traits: RelationTraits,
): SlicedWork<readonly Relation[]> {
  const enums = new Map(Object.entries(traits.enums));
  const columns = new Map<ColumnRow, Column>();
  const columnOf = (row: ColumnRow) => getOrMake(columns, row, () => buildColumn(row, enums));
  const context = { ...traits, columnOf };
  return mapSliced(rows, (row, index) => buildRelation(row, ends[index]!, context));
}

function uniqueIndexesOf(
  rows: readonly UniqueIndexRow[] | undefined,
  names: readonly (string | undefined)[],
): Pick<Relation, "uniqueIndexes"> {
  if (rows === undefined) return {};
  return {
    uniqueIndexes: rows.map(([, name, columns, expressions, predicate]) => ({
      name,
      columns: columns.includes(0) ? null : columns.map((column) => names[column]!),
      expressions,
      predicate,
    })),
  };
}

/** Lists the name, kind and primary key of each relation. */
export function relationshipEnds(
  rows: readonly RelationRow[],
  primaryKeys: PrimaryKeys,
  viewColumns: ReadonlyMap<number, ViewColumns>,
): SlicedWork<readonly RelationshipEnd[]> {
  return mapSliced(rows, (row) => {
    const [oid, schema, name, , isView] = row;
    const names = columnNames(row);
    return {
      oid,
      name: { schema, name },
      isView,
      columnNames: names,
      primaryKey: isView
        // The columns of a key that a view declares keep the order of the declaration.
        ? primaryKeys.get(oid)?.map((column) => names[column]!) ??
          viewPrimaryKey(viewColumns.get(oid) ?? new Map(), primaryKeys, names)
        : (primaryKeys.get(oid) ?? []).map((column) => names[column]!).sort(),
    };
  });
}

/** Returns the names of a relation's columns by attribute number. */
export function columnNames(row: RelationRow): readonly (string | undefined)[] {
  const names: (string | undefined)[] = [undefined];
  for (const [number, name] of row[6] ?? []) {
    while (names.length < number) names.push(undefined);
    names.push(name);
  }
  return names;
}

/**
 * Returns the primary keys of all tables whose key the view shows completely. Keys are ordered by
 * the position of their first column in the view. If the view shows a column twice, the first one
 * is used. The rows of the view may have duplicates of the key.
 */
function viewPrimaryKey(
  viewColumns: ViewColumns,
  primaryKeys: PrimaryKeys,
  columnOrder: readonly (string | undefined)[],
): readonly string[] {
  const keys = Array.from(viewColumns, ([table, columns]) => {
    const key = primaryKeys.get(table) ?? [];
    const names = key.flatMap((column) => columns.get(column)?.[0] ?? []);
    return names.length === key.length ? names : [];
  }).filter((names) => names.length > 0);
  const place = (names: readonly string[]) => columnOrder.indexOf(names[0]!);
  return [...new Set(keys.sort((a, b) => place(a) - place(b)).flat())];
}

/** Bits of `pg_relation_is_updatable`, by kind of change. */
const eventBits = { update: 4, insert: 8, delete: 16 } as const;

function buildRelation(
  row: RelationRow,
  { primaryKey, columnNames }: RelationshipEnd,
  traits: RelationTraits & { readonly columnOf: (row: ColumnRow) => Column },
): Relation {
  const [oid, schema, name, comment, isView, events, columns, hasDivisibleInserts, ...rest] = row;
  const [mergeAction, systemColumns, isInherited] = rest;
  const hiddenJunctions = traits.hiddenJunctions.get(oid);
  return {
    schema,
    name,
    comment,
    isView,
    insertable: (events & eventBits.insert) !== 0,
    updatable: (events & eventBits.update) !== 0,
    deletable: (events & eventBits.delete) !== 0,
    primaryKey,
    columns: (columns ?? []).map(traits.columnOf),
    ...(hasDivisibleInserts ? { hasDivisibleInserts } : {}),
    ...(mergeAction === null ? {} : { mergeAction }),
    ...(systemColumns === null ? {} : { systemColumns }),
    ...(isInherited ? { isInherited } : {}),
    volatile: traits.volatile.has(oid),
    ...(traits.sessionReads.has(oid)
      ? { changesSession: "read" } as const
      : traits.sessionWrites.has(oid)
      ? { changesSession: "write" } as const
      : {}),
    ...(traits.primary.has(oid) ? { readsFrom: "primary" } as const : {}),
    ...(traits.onWorkers.has(oid) ? { isOnWorkers: true } as const : {}),
    ...traits.tags.get(oid),
    ...(hiddenJunctions === undefined ? {} : { hiddenJunctionsTo: [...hiddenJunctions] }),
    ...uniqueIndexesOf(traits.uniqueIndexes.get(oid), columnNames),
  };
}

const noLabels: readonly string[] = [];

function buildColumn(row: ColumnRow, enums: ReadonlyMap<string, readonly string[]>): Column {
  const [, name, comment, nullable, declaredType, baseType, maxLength, expression, ...rest] = row;
  const [enumType, generated] = rest;
  return {
    name,
    comment,
    nullable,
    declaredType,
    baseType: baseType ?? declaredType,
    maxLength,
    default: expression,
    generated,
    enumLabels: enumType === null ? noLabels : enums.get(String(enumType)) ?? noLabels,
  };
}
