/**
 * Common table expressions that several catalogue queries begin with.
 *
 * @module
 */

/**
 * `domain_bases (oid, base, typmod, not_null)`: one row per domain with the type at the bottom of all
 * domain levels, the type modifier given on the way, and whether any level is NOT NULL. Goes after
 * `with recursive`. Materialised, because without statistics it would be run again for every row.
 */
export const domainBases = `
domain_levels (oid, base, typmod, not_null) as (
  select oid, typbasetype, typtypmod, typnotnull from pg_type where typtype = 'd'
  union all
  select d.oid, t.typbasetype, case d.typmod when -1 then t.typtypmod else d.typmod end,
    d.not_null or t.typnotnull
  from domain_levels d join pg_type t on t.oid = d.base
  where t.typtype = 'd'
),
domain_bases (oid, base, typmod, not_null) as materialized (
  select d.oid, d.base, d.typmod, d.not_null
  from domain_levels d join pg_type t on t.oid = d.base
  where t.typtype <> 'd'
)`;
