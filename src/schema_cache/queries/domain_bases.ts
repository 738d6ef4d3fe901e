/**
 * Common table expressions that several catalogue queries share.
 *
 * @module
 */

/**
 * `domain_bases (oid, base, typmod, not_null)` has one row for each domain. `base` is the type
 * below all domain levels; `not_null` is true if any level is NOT NULL. Put it after `with
 * recursive`. It is materialized, because without statistics PostgreSQL would run it again for
 * every row.
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
