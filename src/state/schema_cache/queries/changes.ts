/** Queries that detect a changed schema without reading the whole catalogue. @module */

/**
 * Sums the write counters of the catalogue's tables. The row contains the sum, and whether the server
 * counts: a standby does not. DDL changes the sum, also of temporary tables; statements on rows,
 * ANALYZE and VACUUM do not. The query reads counters in memory and takes about 0.1 ms.
 *
 * PostgreSQL adds to the counters after the transaction, with a delay of up to a second. The catalogue
 * tables have the same oid in each database: pg_type, pg_attribute, pg_proc, pg_class, pg_aggregate,
 * pg_attrdef, pg_cast, pg_constraint, pg_description, pg_inherits, pg_namespace, pg_rewrite,
 * pg_trigger, pg_enum. (PostgreSQL, "The Cumulative Statistics System".)
 */
export const writeCountersQuery = `
select pg_catalog.sum(
    pg_catalog.pg_stat_get_tuples_inserted(c) + pg_catalog.pg_stat_get_tuples_updated(c)
      + pg_catalog.pg_stat_get_tuples_deleted(c)
  )::text,
  (pg_catalog.current_setting('track_counts') = 'on' and not pg_catalog.pg_is_in_recovery())::text
from pg_catalog.unnest(
  '{1247,1249,1255,1259,2600,2604,2605,2606,2609,2611,2615,2618,2620,3501}'::pg_catalog.oid[]
) c`;

/**
 * Parameters: the exposed and the extra schemas as `text[]`. The result is a sum of hashes: of the
 * catalogue rows of these schemas, of the extensions, and of the keys of all user schemas, from
 * which exposed views get relationships. Temporary tables do not change the result.
 *
 * Of pg_class, the query hashes only columns that the schema cache depends on. `xmin` would also
 * change with TRUNCATE, REFRESH MATERIALIZED VIEW and GRANT.
 */
export const fingerprintQuery = `
with schemas as (
  select oid, nspname from pg_namespace where nspname = any ($1::text[])
),
relations as (
  select c.oid, concat_ws(
      ' ', c.oid, c.relname, c.relnamespace, c.relkind, c.reltype, c.relowner, c.relhasrules,
      c.relhastriggers, c.relrowsecurity, c.relispartition, c.reloptions
    ) as version
  from pg_class c join schemas s on s.oid = c.relnamespace
  where c.relkind in ('r', 'p', 'v', 'm', 'f')
),
routines as (
  select p.oid, p.xmin from pg_proc p join schemas s on s.oid = p.pronamespace
),
types as (
  select t.oid, t.xmin from pg_type t join schemas s on s.oid = t.typnamespace
),
versions (kind, version) as (
  select 'n', oid || ' ' || nspname from schemas
  union all
  select 'r', version from relations
  union all
  select 'a', a.attrelid || ' ' || a.attnum || ' ' || a.xmin
  from pg_attribute a join relations r on r.oid = a.attrelid
  where a.attnum > 0
  union all
  select 'c', c.oid || ' ' || c.xmin
  from pg_constraint c join pg_namespace n on n.oid = c.connamespace
  where n.nspname = any ($1::text[])
    or c.contype in ('p', 'u', 'f') and n.nspname !~ '^pg_' and n.nspname <> 'information_schema'
  union all
  select 'p', oid || ' ' || xmin from routines
  union all
  select 't', oid || ' ' || xmin from types
  union all
  select 'e', e.oid || ' ' || e.xmin from pg_enum e join types t on t.oid = e.enumtypid
  union all
  select 'w', w.oid || ' ' || w.xmin from pg_rewrite w join relations r on r.oid = w.ev_class
  union all
  select 'g', g.oid || ' ' || g.xmin from pg_trigger g join relations r on r.oid = g.tgrelid
  where not g.tgisinternal
  union all
  select 'k', oid || ' ' || xmin from pg_cast where oid >= 16384
  union all
  select 'x', oid || ' ' || xmin from pg_extension
  union all
  select 'd', d.classoid || ' ' || d.objoid || ' ' || d.objsubid || ' ' || d.xmin
  from pg_description d
    join (
      select 'pg_class'::regclass as class, oid from relations
      union all select 'pg_proc'::regclass, oid from routines
      union all select 'pg_type'::regclass, oid from types
      union all select 'pg_namespace'::regclass, oid from schemas
    ) o on o.class = d.classoid and o.oid = d.objoid
)
select coalesce(sum(hashtextextended(kind || ' ' || version, 0)), 0)::text from versions`;
