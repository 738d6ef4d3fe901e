/**
 * Reads primary, unique and foreign keys of tables in all user schemas. Exposed views depend on
 * keys of tables in unexposed schemas.
 *
 * @module
 */

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

/** The result of {@linkcode keysQuery}. */
export interface KeysResult {
  readonly primary: readonly KeyRow[];
  readonly unique: readonly KeyRow[];
  readonly foreign: readonly ForeignKeyRow[];
}

/**
 * The query has no parameters. It omits the foreign keys that PostgreSQL derives for partitions.
 */
export const keysQuery = `
with keys as (
  select c.conname, c.contype, c.conrelid::int8 as relid, c.conkey, c.confrelid::int8 as frelid,
    c.confkey, c.conparentid
  from pg_constraint c join pg_namespace n on n.oid = c.connamespace
  where c.contype in ('p', 'u', 'f') and n.nspname !~ '^pg_' and n.nspname <> 'information_schema'
)
select json_build_object(
  'primary', coalesce((
    select json_agg(json_build_array(relid, conkey)) from keys where contype = 'p'
  ), '[]'),
  'unique', coalesce((
    select json_agg(json_build_array(relid, conkey)) from keys where contype = 'u'
  ), '[]'),
  'foreign', coalesce((
    select json_agg(json_build_array(conname, relid, conkey, frelid, confkey))
    from keys where contype = 'f' and conparentid = 0
  ), '[]')
)::text`;
