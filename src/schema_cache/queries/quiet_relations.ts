/**
 * Relations of the exposed schemas that can be read or written without any code of the database's own
 * being run, so that nothing there can look at what the request said, or say anything of the response.
 *
 * @module
 */

/** A relation's oid, and bits: 1 reading, 2 inserting, 4 updating and deleting. */
export type QuietRow = readonly [oid: number, quiet: number];

/** What the bits of a {@linkcode QuietRow} stand for. */
export const quietBits = { reads: 1, inserts: 2, changes: 4 } as const;

/**
 * Parameters: exposed schemas as `regnamespace[]`.
 *
 * Reading runs code in views, policies, and the output of types that are not built in. Writing does so
 * in triggers, rules, defaults, constraints and indexes as well: they are taken for quiet where they
 * depend on functions of `internal` and `c` only, and on none that sets settings or runs SQL which it is
 * given. Casts, operators and their classes in other languages may be taken for what is built in: where
 * there are some, nothing is quiet. Nor is it where not everybody may call what quiet statements call.
 */
export const quietRelationsQuery = `
with coded (oid) as (
  select p.oid from pg_proc p join pg_language l on l.oid = p.prolang
  -- Some that are built in are of SQL.
  where l.lanname not in ('internal', 'c') and p.oid >= 16384
),
plain_types (oid) as (
  select t.oid from pg_type t left join pg_type e on t.typcategory = 'A' and e.oid = t.typelem
  where coalesce(e.typtype, t.typtype) = 'e'
    or (t.typnamespace = 'pg_catalog'::regnamespace and t.typtype <> 'd')
),
surroundings (are_quiet) as (
  select not exists (select from pg_operator where oprcode in (select oid from coded))
    and not exists (select from pg_amproc where amproc in (select oid from coded))
    and not exists (
      select from pg_cast
      where castfunc in (select oid from coded)
        and castsource in (select oid from plain_types)
        and casttarget in (select oid from plain_types)
    )
    and has_function_privilege('public', 'set_config(text, text, boolean)', 'execute')
    and has_function_privilege('public', 'current_setting(text)', 'execute')
    and has_function_privilege('public', 'row_security_active(oid)', 'execute')
    and has_function_privilege('public', 'pg_relation_filenode(regclass)', 'execute')
),
relations as (
  select c.oid, c.relkind, c.relhasrules
  from pg_class c
  where c.relnamespace = any ($1::regnamespace[]) and c.relkind in ('r', 'm')
    and not c.relrowsecurity and not c.relhassubclass and not c.relispartition
    and (select are_quiet from surroundings)
    and not exists (
      select from pg_attribute a
        join pg_type t on t.oid = a.atttypid
        left join pg_type e on t.typcategory = 'A' and e.oid = t.typelem
      where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and (
        a.attgenerated = 'v' or (
          coalesce(e.typnamespace, t.typnamespace) <> 'pg_catalog'::regnamespace
          and coalesce(e.typtype, t.typtype) <> 'e'
        )
      )
    )
),
parts (relid, classid, objid, expression) as (
  select adrelid, 'pg_attrdef'::regclass, oid, adbin::text from pg_attrdef
  union all select conrelid, 'pg_constraint'::regclass, oid, conbin::text
    from pg_constraint where conrelid <> 0
  union all select indrelid, 'pg_class'::regclass, indexrelid, null from pg_index
  -- What generated columns depend on, before PostgreSQL 15.
  union all select oid, 'pg_class'::regclass, oid, null from relations
),
loud_functions (pattern) as (
  select ':funcid (' || string_agg(oid::text, '|') || ') '
  from pg_proc
  where pronamespace = 'pg_catalog'::regnamespace
    and proname ~ '^(set_config|ts_stat|ts_rewrite|.*_to_xml.*|lo_.*|pg_notify|pg_(read|input)_.*)$'
),
loud (relid) as (
  select p.relid
  from parts p
    join pg_depend d on d.classid = p.classid and d.objid = p.objid
    left join pg_type t on d.refclassid = 'pg_type'::regclass and t.oid = d.refobjid
  where t.typtype in ('d', 'c')
    or (d.refclassid = 'pg_proc'::regclass and d.refobjid in (select oid from coded))
  union all
  select relid from parts, loud_functions where expression ~ pattern
  union all
  select tgrelid from pg_trigger where not tgisinternal
),
written as (
  select r.oid,
    r.relkind = 'r' and not r.relhasrules and r.oid not in (select relid from loud) as inserts,
    r.oid in (select confrelid from pg_constraint where contype = 'f') as referenced
  from relations r
)
select coalesce(json_agg(json_build_array(
  oid::int8,
  1 + case when inserts then 2 else 0 end + case when inserts and not referenced then 4 else 0 end
)), '[]')::text
from written`;
