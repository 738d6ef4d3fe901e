/** Reads the operators that indexes order by, and the objects of pg_trgm. @module */
import { domainBases } from "./relations.ts";

/**
 * The result is `SearchOperators`.
 *
 * Of operators with the same name and left operand, the query takes the one whose operands have the
 * same type, or else the only one. The right type is written for a cast: `"bit"`, since `bit` has a
 * length of 1.
 *
 * An operator with `amoppurpose = 'o'` belongs to an operator class, which only a superuser
 * creates. Of other operators and functions, the query takes only the extension's: any user may
 * create an operator `%` of texts, which must not run for the roles of requests.
 */
export const searchOperatorsQuery = `
with recursive ${domainBases},
candidates as (
  select n.nspname as schema, o.oprname as name, o.oprleft, o.oprright,
    count(*) over same as count, bool_or(o.oprleft = o.oprright) over same as has_equal
  from pg_operator o join pg_namespace n on n.oid = o.oprnamespace
  where o.oid in (select amopopr from pg_amop where amoppurpose = 'o')
  window same as (partition by o.oprname, o.oprleft)
),
distances as (
  select * from candidates where oprleft = oprright or count = 1 and not has_equal
),
trigrams as (
  select d.classid, d.objid
  from pg_extension e
    join pg_depend d on d.refclassid = 'pg_extension'::regclass and d.refobjid = e.oid
  where e.extname = 'pg_trgm' and d.deptype = 'e'
),
similarity as (
  select n.nspname as schema, o.oprname as name
  from trigrams t
    join pg_operator o on t.classid = 'pg_operator'::regclass and o.oid = t.objid
    join pg_namespace n on n.oid = o.oprnamespace
  where o.oprname in ('%', '%>', '%>>') and o.oprleft = 'text'::regtype
    and o.oprright = 'text'::regtype
  union all
  select n.nspname, p.proname
  from trigrams t
    join pg_proc p on t.classid = 'pg_proc'::regclass and p.oid = t.objid
    join pg_namespace n on n.oid = p.pronamespace
  where p.proname in ('similarity', 'word_similarity', 'strict_word_similarity')
    and p.proargtypes = '25 25'::oidvector
),
domains as (
  select b.oid, b.base
  from domain_bases b join pg_type t on t.oid = b.base
  where t.typnamespace <> 'pg_catalog'::regnamespace
    and b.base in (select oprleft from distances)
)
select json_build_object(
  'distances', (
    select coalesce(json_agg(json_build_object(
      'schema', schema, 'name', name,
      'left', format_type(oprleft, null), 'right', format_type(oprright, -1)
    ) order by schema, name, oprleft, oprright), '[]') from distances
  ),
  'similarity', (
    select coalesce(json_agg(
      json_build_object('schema', schema, 'name', name) order by schema, name
    ), '[]')
    from similarity
  ),
  'domains', (
    select coalesce(json_agg(json_build_array(
      format_type(oid, null), format_type(base, null)
    ) order by oid), '[]') from domains
  )
)::text`;
