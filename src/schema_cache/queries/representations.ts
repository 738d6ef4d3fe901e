/**
 * Reads implicit casts between a domain and json or text. PostgreSQL ignores casts on domains, so
 * the service applies them itself.
 *
 * @module
 */

/** One cast, types as `format_type` text. */
export type RepresentationRow = readonly [
  source: string,
  target: string,
  functionSchema: string,
  functionName: string,
];

/** The query has no parameters. It returns only casts whose function the login role may execute. */
export const representationsQuery = `
select coalesce(json_agg(
  json_build_array(
    format_type(c.castsource, null), format_type(c.casttarget, null), n.nspname, p.proname
  ) order by format_type(c.castsource, null), format_type(c.casttarget, null)
), '[]')::text
from pg_cast c
  join pg_type source on source.oid = c.castsource
  join pg_type target on target.oid = c.casttarget
  join pg_proc p on p.oid = c.castfunc
  join pg_namespace n on n.oid = p.pronamespace
where c.castcontext = 'i' and c.castmethod = 'f' and has_function_privilege(p.oid, 'execute')
  and (
    source.typtype = 'd' and target.oid in ('json'::regtype, 'text'::regtype)
    or target.typtype = 'd' and source.oid in ('json'::regtype, 'text'::regtype)
  )`;
