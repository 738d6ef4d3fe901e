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
 * Parameters: exposed schemas, and all schemas of the search path, as `regnamespace[]`.
 *
 * Reading runs code in views, policies, and the output of types that are not built in. Writing does so
 * in triggers, rules, defaults, constraints and indexes as well: they are taken for quiet where they
 * depend on functions of `internal` and `c` only, and on none that sets settings or runs SQL which it is
 * given. An operator in the search path may be taken for one that is built in.
 */
export const quietRelationsQuery = `
with relations as (
  select c.oid, c.relkind, c.relhasrules
  from pg_class c
  where c.relnamespace = any ($1::regnamespace[]) and c.relkind in ('r', 'm')
    and not c.relrowsecurity and not c.relhassubclass and not c.relispartition
    and not exists (
      select from pg_operator o
      where o.oprnamespace = any ($2::regnamespace[]) and not exists (
        select from pg_depend d
        where d.classid = 'pg_operator'::regclass and d.objid = o.oid and d.deptype = 'e'
      )
    )
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
),
loud_functions (pattern) as (
  select ':funcid (' || string_agg(oid::text, '|') || ') '
  from pg_proc
  where pronamespace = 'pg_catalog'::regnamespace
    and proname ~ '^(set_config|ts_stat|ts_rewrite|.*_to_xml.*|lo_.*|pg_notify|pg_read_.*)$'
),
loud (relid) as (
  select p.relid
  from parts p
    join pg_depend d on d.classid = p.classid and d.objid = p.objid
    left join pg_proc f on d.refclassid = 'pg_proc'::regclass and f.oid = d.refobjid
    left join pg_language l on l.oid = f.prolang
    left join pg_type t on d.refclassid = 'pg_type'::regclass and t.oid = d.refobjid
  where l.lanname not in ('internal', 'c') or t.typtype = 'd' or (
    d.refclassid in ('pg_operator'::regclass, 'pg_opclass'::regclass) and not exists (
      select from pg_depend e
      where e.classid = d.refclassid and e.objid = d.refobjid and e.deptype = 'e'
    )
  )
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
