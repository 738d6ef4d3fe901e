/** Reads aggregates and functions whose result type is a domain named like a media type, and implicit
 * casts between a domain and json or text. PostgreSQL ignores casts of domains, so the service calls
 * their functions itself. @module */
import { domainBases } from "./relations.ts";

/** Parameters: exposed schemas as `regnamespace[]`. The result has `MediaHandler`s. */
export const mediaHandlersQuery = `
with recursive ${domainBases},
media_types as (
  select t.oid, t.typname, d.base = 'bytea'::regtype as is_binary
  from pg_type t join domain_bases d on d.oid = t.oid
  where (t.typname ~ '^[A-Za-z0-9.-]+/[A-Za-z0-9.+-]+$' or t.typname = '*/*')
),
handlers (kind, target_schema, target_name, schema, name, media_type, is_binary) as (
  select case when a.oid = 'anyelement'::regtype then 'any' else 'aggregate' end,
    case when a.oid <> 'anyelement'::regtype then an.nspname end,
    case when a.oid <> 'anyelement'::regtype then a.typname end,
    n.nspname, p.proname, m.typname, m.is_binary
  from media_types m
    join pg_proc p on p.prorettype = m.oid and p.prokind = 'a' and p.pronargs = 1
    join pg_namespace n on n.oid = p.pronamespace
    join pg_type a on a.oid = p.proargtypes[0]
    join pg_namespace an on an.oid = a.typnamespace
    left join pg_class c on c.oid = a.typrelid and c.relkind in ('r', 'p', 'v', 'm', 'f')
  where p.pronamespace = any ($1::regnamespace[])
    and (c.oid is not null or a.oid = 'anyelement'::regtype)
  union all
  select 'function', n.nspname, p.proname, n.nspname, p.proname, m.typname, m.is_binary
  from media_types m
    join pg_proc p on p.prorettype = m.oid and p.prokind = 'f' and not p.proretset
    join pg_namespace n on n.oid = p.pronamespace
  where p.pronamespace = any ($1::regnamespace[])
)
select coalesce(json_agg(
  json_build_object(
    'kind', kind,
    'target', case when target_name is not null
      then json_build_object('schema', target_schema, 'name', target_name) end,
    'handler', json_build_object('schema', schema, 'name', name),
    'mediaType', media_type, 'binary', is_binary
  )
  order by kind, target_schema, target_name, media_type, schema, name
), '[]')::text
from handlers`;

/** The result has `DataRepresentation`s whose function the login role may execute. */
export const representationsQuery = `
select coalesce(json_agg(
  json_build_object(
    'source', format_type(c.castsource, null), 'target', format_type(c.casttarget, null),
    'function', json_build_object('schema', n.nspname, 'name', p.proname)
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
