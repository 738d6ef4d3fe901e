/** Reads primary, unique and foreign keys of tables in all user schemas. Exposed views depend on
 * keys of tables in unexposed schemas. @module */

/** A table's oid and the attribute numbers of its key. */
export type KeyRow = readonly [table: number, columns: readonly number[]];

/** A foreign key; attribute numbers pair up by position. */
export type ForeignKeyRow = readonly [
  name: string,
  table: number,
  columns: readonly number[],
  foreignTable: number,
  foreignColumns: readonly number[],
];

/**
 * A unique index that `ON CONFLICT` can use: its table, its name, the attribute numbers of its keys, and
 * their expressions. The number is 0 for an expression that is not a column.
 */
export type UniqueIndexRow = readonly [
  table: number,
  name: string,
  columns: readonly number[],
  expressions: readonly string[],
  predicate: string | null,
];

export interface Keys {
  readonly primary: readonly KeyRow[];
  readonly unique: readonly KeyRow[];
  readonly foreign: readonly ForeignKeyRow[];
  readonly uniqueIndexes: readonly UniqueIndexRow[];
}

const ofUsers = "n.nspname !~ '^pg_' and n.nspname <> 'information_schema'";

function constraintsQuery(type: "p" | "u" | "f", parts: string): string {
  return `
select json_build_array(${parts})::text
from pg_constraint c join pg_namespace n on n.oid = c.connamespace
where c.contype = '${type}' and ${ofUsers}`;
}

/** Each row is a {@linkcode KeyRow}. Queries of keys have no parameters. */
export const primaryKeysQuery = constraintsQuery("p", "c.conrelid::int8, c.conkey");

/** Each row is a {@linkcode KeyRow}. */
export const uniqueKeysQuery = constraintsQuery("u", "c.conrelid::int8, c.conkey");

/** Each row is a {@linkcode ForeignKeyRow}. Keys that PostgreSQL derives for partitions are omitted. */
export const foreignKeysQuery = constraintsQuery(
  "f",
  "c.conname, c.conrelid::int8, c.conkey, c.confrelid::int8, c.confkey",
) + " and c.conparentid = 0";

/**
 * Each row is a {@linkcode UniqueIndexRow}, sorted by name. The query calls `pg_get_indexdef` and
 * `pg_get_expr` only for expressions and predicates, because they wait for locks on the table.
 */
export const uniqueIndexesQuery = `
select json_build_array(i.indrelid::int8, c.relname, (
  select json_agg(i.indkey[k] order by k) from generate_series(0, i.indnkeyatts - 1) as k
), (
  select json_agg(case
    when a.attname is null then pg_get_indexdef(i.indexrelid, k + 1, false)
    else quote_ident(a.attname)
  end order by k)
  from generate_series(0, i.indnkeyatts - 1) as k
    left join pg_attribute a
      on a.attrelid = i.indrelid and a.attnum = i.indkey[k] and i.indkey[k] <> 0
), pg_get_expr(i.indpred, i.indrelid))::text
from pg_index i
  join pg_class c on c.oid = i.indexrelid
  join pg_namespace n on n.oid = c.relnamespace
  join pg_class t on t.oid = i.indrelid
where i.indisunique and i.indisvalid and i.indimmediate and not t.relispartition
  and t.relkind in ('r', 'p') and ${ofUsers}
order by c.relname`;
