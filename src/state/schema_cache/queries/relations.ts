/** Reads tables, views, materialized views, foreign and partitioned tables of the exposed schemas,
 * with their columns. Partitions are omitted. @module */
import type { Relation } from "../schema_cache.ts";

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

/**
 * Condition: the relation `c` belongs to no extension, or a role may use it by an explicit grant.
 * Extensions such as PostGIS, pg_stat_statements and Citus grant their relations to PUBLIC, not to
 * a role.
 */
export const isOfUsers = `(
  c.oid not in (
    select objid from pg_depend
    where classid = 'pg_class'::regclass and refclassid = 'pg_extension'::regclass and deptype = 'e'
  )
  or exists (
    select from (
      select c.relacl as acl, 0 as part
      union all
      select attacl, attnum from pg_attribute where attrelid = c.oid and attacl is not null
    ) grants cross join aclexplode(acl) g
    where g.grantee not in (0, c.relowner) and not exists (
        select from pg_init_privs i cross join aclexplode(i.initprivs) made
        where i.classoid = 'pg_class'::regclass and i.objoid = c.oid and i.objsubid = part
          and made.grantee = g.grantee
      )
  )
)`;

/** One column in a row of {@linkcode relationsQuery}. */
export type ColumnRow = readonly [
  number: number,
  name: string,
  comment: string | null,
  nullable: boolean,
  declaredType: string,
  /** Null if the base type equals the declared type. */
  baseType: string | null,
  maxLength: number | null,
  defaultExpression: string | null,
  /** Key of {@linkcode EnumLabels} when the base type is an enum; null otherwise. */
  enumType: number | null,
  /** True for a generated column, or an identity column `GENERATED ALWAYS`. */
  generated: boolean,
];

/** A row of {@linkcode relationsQuery}. */
export type RelationRow = readonly [
  oid: number,
  schema: string,
  name: string,
  comment: string | null,
  isView: boolean,
  /** Bits of `pg_relation_is_updatable`: 4 update, 8 insert, 16 delete. */
  events: number,
  /** Columns in attribute order; null when there are no columns. */
  columns: readonly ColumnRow[] | null,
  hasDivisibleInserts: boolean,
  /** See `Relation.mergeAction`. */
  mergeAction: "old" | "xmax" | null,
  systemColumns: Relation["systemColumns"] | null,
  /** Whether the table is not partitioned, and other tables inherit from it. */
  isInherited: boolean,
];

/** Result of {@linkcode enumsQuery}: labels of all enum types in sort order, by the type's oid. */
export type EnumLabels = Readonly<Record<string, readonly string[]>>;

/**
 * Parameters: exposed schemas as `regnamespace[]`. One row for each relation, by schema and name.
 *
 * The default of a column is an expression for later statements: the column's, the domain's, or
 * `nextval` for an identity column that accepts values. Generated columns have no default. Defaults
 * cannot reference columns, so `pg_get_expr` needs no relation and takes no lock.
 *
 * Inserts into a table are divisible if several inserts have the same effect as one. Exceptions:
 *
 * - A trigger runs per statement or after rows. Before rows, a stable function does not see earlier
 *   rows of the statement, and a volatile one can insert a row that a later row refers to.
 * - A rule adds statements. A foreign key leads to the table itself.
 * - A policy has a subquery.
 * - A default, a check, a domain or a policy calls a function in SQL or a procedural language, which may
 *   query the table. `statement_timestamp()` (function 2648) differs between statements.
 *
 * System columns are available if the table and all its children use the access method `heap` (2).
 * Foreign tables and other access methods may lack them.
 *
 * The query does not test whether foreign tables are updatable if their wrapper has no handler: the
 * test would fail.
 */
export const relationsQuery = `
with recursive ${domainBases},
relations as (
  select c.oid, c.relname, c.relkind, n.nspname
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where n.oid = any ($1::regnamespace[]) and c.relkind in ('r', 'p', 'v', 'm', 'f')
    and not c.relispartition and ${isOfUsers}
),
columns as (
  select a.attrelid, a.attnum, a.attname, d.description,
    not (a.attnotnull or coalesce(domain.not_null, false)) as nullable,
    format_type(a.atttypid, a.atttypmod) as declared_type,
    case when base.typnamespace = 'pg_catalog'::regnamespace or base.typname in ('hstore', '_hstore')
      then format_type(base.oid, null) end as base_type,
    case
      when base.oid in ('bpchar'::regtype, 'varchar'::regtype) then nullif(length.typmod, -1) - 4
      when base.oid in ('bit'::regtype, 'varbit'::regtype) then nullif(length.typmod, -1)
    end as max_length,
    case
      when t.typtype = 'd' and ad.adbin is null then pg_get_expr(t.typdefaultbin, 0)
      when a.attidentity = 'd' then (
        select format('nextval(%L::regclass)', format('%I.%I', sn.nspname, s.relname))
        from pg_depend dep
          join pg_class s on s.oid = dep.objid and s.relkind = 'S'
          join pg_namespace sn on sn.oid = s.relnamespace
        where dep.classid = 'pg_class'::regclass and dep.refclassid = 'pg_class'::regclass
          and dep.refobjid = a.attrelid and dep.refobjsubid = a.attnum and dep.deptype = 'i'
        limit 1
      )
      when a.attgenerated <> '' then null
      else pg_get_expr(ad.adbin, 0)
    end as default_expression,
    case base.typtype when 'e' then base.oid::int8 end as enum_type,
    a.attgenerated <> '' or a.attidentity = 'a' as generated
  from relations r
    join pg_attribute a on a.attrelid = r.oid and a.attnum > 0 and not a.attisdropped
    join pg_type t on t.oid = a.atttypid
    left join domain_bases domain on domain.oid = t.oid
    join pg_type base on base.oid = coalesce(domain.base, t.oid)
    cross join lateral (select coalesce(nullif(a.atttypmod, -1), domain.typmod, -1)) length (typmod)
    left join pg_attrdef ad on ad.adrelid = a.attrelid and ad.adnum = a.attnum
    left join pg_description d
      on d.classoid = 'pg_class'::regclass and d.objoid = a.attrelid and d.objsubid = a.attnum
),
dead_foreign_tables (relid) as (
  select f.ftrelid
  from pg_foreign_table f
    join pg_foreign_server s on s.oid = f.ftserver
    join pg_foreign_data_wrapper w on w.oid = s.srvfdw
  where w.fdwhandler = 0
),
without_system_columns (relid) as (
  select oid from pg_class where relkind = 'f' or relkind = 'r' and relam not in (0, 2)
  union
  select i.inhparent from pg_inherits i join without_system_columns w on w.relid = i.inhrelid
),
sql_functions (oid) as (
  select p.oid from pg_proc p join pg_language l on l.oid = p.prolang
  where l.lanname not in ('internal', 'c')
),
expressions (relid, classid, objid) as (
  select adrelid, 'pg_attrdef'::regclass, oid from pg_attrdef
  union all
  select polrelid, 'pg_policy'::regclass, oid from pg_policy
  union all
  select conrelid, 'pg_constraint'::regclass, oid from pg_constraint where contype = 'c'
  union all
  select a.attrelid, 'pg_type'::regclass, d.oid
  from pg_attribute a join pg_type d on d.oid = a.atttypid and d.typtype = 'd'
  where a.attrelid >= 16384
  union all
  select a.attrelid, 'pg_constraint'::regclass, c.oid
  from pg_attribute a join pg_constraint c on c.contypid = a.atttypid
  where a.attrelid >= 16384
),
indivisible (relid) as materialized (
  select t.tgrelid from pg_trigger t join pg_proc p on p.oid = t.tgfoid
  where not t.tgisinternal and t.tgenabled <> 'D' and t.tgtype & 4 <> 0 and (
    t.tgtype & 3 <> 3
    or p.oid in (select oid from sql_functions) and (
      p.provolatile <> 'v'
      or exists (select from pg_constraint c where c.conrelid = t.tgrelid and c.contype = 'f')
    )
  )
  union
  select ev_class from pg_rewrite
  union
  select conrelid from pg_constraint where contype = 'f' and conrelid = confrelid
  union
  select polrelid from pg_policy where concat(polqual, polwithcheck) like '%{SUBLINK %'
  union
  select adrelid from pg_attrdef where adbin::text like '%:funcid 2648 %'
  union
  select e.relid
  from expressions e join pg_depend d on d.classid = e.classid and d.objid = e.objid
  where d.refclassid = 'pg_proc'::regclass and d.refobjid in (select oid from sql_functions)
),
column_lists as (
  select attrelid, json_agg(
    json_build_array(
      attnum, attname, description, nullable, declared_type, nullif(base_type, declared_type),
      max_length, default_expression, enum_type, generated
    ) order by attnum
  ) as list
  from columns group by attrelid
)
select json_build_array(
  r.oid::int8, r.nspname, r.relname, d.description, r.relkind in ('v', 'm'),
  case
    when r.relkind in ('r', 'p') then 28
    when r.relkind = 'm' or r.oid in (select relid from dead_foreign_tables) then 0
    else pg_relation_is_updatable(r.oid, true)
  end,
  l.list, r.relkind = 'r' and r.oid >= 16384 and r.oid not in (select relid from indivisible),
  case
    when current_setting('server_version_num')::int >= 180000 then 'old'
    when r.relkind = 'r' then 'xmax'
  end,
  case
    when r.oid in (select relid from without_system_columns) then null
    when r.relkind = 'r' then 'always'
    when r.relkind = 'p' then 'except inserts'
  end,
  r.relkind = 'r' and r.oid in (select inhparent from pg_inherits)
)::text
from relations r
  left join column_lists l on l.attrelid = r.oid
  left join pg_description d
    on d.classoid = 'pg_class'::regclass and d.objoid = r.oid and d.objsubid = 0
order by r.nspname, r.relname`;

/** Parameters: schemas as `regnamespace[]`. The result has the comments by schema. */
export const schemaCommentsQuery = `
select coalesce(json_object_agg(n.nspname, d.description), '{}')::text
from pg_namespace n join pg_description d
  on d.classoid = 'pg_namespace'::regclass and d.objoid = n.oid
where n.oid = any ($1::regnamespace[])`;

/** The query has no parameters. */
export const enumsQuery = `
select coalesce(json_object_agg(e.enumtypid::int8, e.labels), '{}')::text
from (
  select enumtypid, json_agg(enumlabel order by enumsortorder) as labels
  from pg_enum group by enumtypid
) e`;

/**
 * Parameters: exposed and extra schemas as `regnamespace[]`. Each row is an input of `readViewRule`,
 * not JSON: the oid and the tree of a view, separated by a space. Trees are large, and escaping them
 * as JSON would double the memory.
 */
export const viewRulesQuery = `
select c.oid::text || ' ' || r.ev_action::text
from pg_class c join pg_rewrite r on r.ev_class = c.oid and r.rulename = '_RETURN'
where c.relnamespace = any ($1::regnamespace[]) and c.relkind in ('v', 'm')`;
