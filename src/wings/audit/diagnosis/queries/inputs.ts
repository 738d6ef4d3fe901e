/**
 * The common tables of all checks: the request roles, the schemas, their relations, and the
 * privileges of each role on each relation.
 *
 * A query has four parameters: the exposed schemas and the extra schemas as JSON arrays, the
 * anonymous role or NULL, and the configured functions as a JSON array of {@linkcode
 * FunctionInput}.
 *
 * @module
 */
import { isOfUsers } from "../../../../state/schema_cache/queries/relations.ts";

/** A function that the configuration names. `schema` is null if the search path resolves the name. */
export type FunctionInput = readonly [key: string, schema: string | null, name: string];

/** Maximum number of roles that one diagnosis checks. */
export const maxRoles = 50;

/**
 * Returns an expression whose value is the SQL that revokes the grant `a`. `format` has the
 * arguments of `format()`. REVOKE only affects grants of the current role, which for a superuser
 * is the owner. For another grantor, the SQL sets the role first.
 */
export function revokeBy(owner: string, format: string): string {
  return `case a.grantor when ${owner} then format(${format})
    else format(E'set role %I;\\n%s\\nreset role;', pg_get_userbyid(a.grantor), format(${format})) end`;
}

/** Expression of the role to which `a` is granted. */
export const grantee =
  `case a.grantee when 0 then 'public' else quote_ident(pg_get_userbyid(a.grantee)) end`;

/** Expression of a function `p` of the schema `s`, as written in ALTER and GRANT. */
export const functionName =
  `format('%s.%I(%s)', s.name, p.proname, pg_get_function_identity_arguments(p.oid))`;

/** FROM item `a`: the grants on the relation `c` and its columns to the role of `p`. */
export const grantsOf = (privileges: string): string =>
  `lateral (
      select g.grantee, g.grantor
      from (
        select c.relacl as acl
        union all
        select b.attacl from pg_attribute b where b.attrelid = c.oid and b.attacl is not null
      ) acls cross join lateral aclexplode(acls.acl) g
      where g.privilege_type in (${privileges})
    ) a on a.grantee <> c.relowner
      and case a.grantee when 0 then true else pg_has_role(p.role_oid, a.grantee, 'USAGE') end`;

/** Expression of the `search_path` for a function of the schema `s`: this schema, then the extra schemas. */
export const functionPath = `concat_ws(', ', s.name, (
        select string_agg(quote_ident(value), ', ' order by ordinality)
        from json_array_elements_text($2::json) with ordinality
        where value <> s.nspname
      ))`;

/**
 * Common table expressions.
 *
 * - `login`: the role of the connection. `set_option` is the privilege that lets it take a role:
 *   from PostgreSQL 16 on, a membership may lack the option SET.
 * - `roles`: the anonymous role and the roles that the login role may take. Because a superuser may
 *   take every role, its list has only the roles that were granted to it.
 * - `schemas`: the exposed schemas and the extra ones.
 * - `relations`: tables and views of the exposed schemas, without partitions and relations of extensions.
 * - `privileges`: one row for each role, except superusers, and each relation. `owns` means that the
 *   role has the rights of the owner, which include all privileges.
 */
export const inputs = `
version as (select current_setting('server_version_num')::int as number),
login as (
  select r.oid, r.rolname, r.rolsuper, r.rolinherit, quote_ident(r.rolname) as name,
    case when v.number >= 160000 then 'SET' else 'MEMBER' end as set_option
  from pg_roles r, version v where r.rolname = current_user
),
takeable as (
  select r.oid from pg_roles r, login l
  where r.rolname !~ '^pg_' and r.oid <> l.oid and r.rolname is distinct from $3::text
    and case when l.rolsuper
      then exists (select from pg_auth_members m where m.member = l.oid and m.roleid = r.oid)
      else pg_has_role(l.oid, r.oid, l.set_option)
    end
),
roles as materialized (
  select r.oid, r.rolname, quote_ident(r.rolname) as name, r.rolsuper, r.rolbypassrls, r.rolconfig,
    r.rolname = $3::text as anonymous, r.oid = l.oid as is_login
  from pg_roles r, login l
  where r.rolname = $3::text
    or r.oid in (
      select t.oid from takeable t join pg_roles n on n.oid = t.oid
      order by n.rolname limit ${maxRoles}
    )
),
schemas as materialized (
  select n.oid, n.nspname, quote_ident(n.nspname) as name, n.nspowner, n.nspacl,
    bool_or(listed.exposed) as exposed, min(listed.position) as position
  from (
    select value, true as exposed, ordinality as position
    from json_array_elements_text($1::json) with ordinality
    union all
    select value, false, 1000 + ordinality
    from json_array_elements_text($2::json) with ordinality
  ) listed
    join pg_namespace n on n.nspname = listed.value
  group by n.oid, n.nspname, n.nspowner, n.nspacl
),
relations as materialized (
  select c.oid, c.relname, c.relkind, c.relowner, c.relacl, c.relrowsecurity, c.reloptions,
    format('%I.%I', s.nspname, c.relname) as name, s.nspowner, s.name as schema
  from pg_class c join schemas s on s.oid = c.relnamespace
  where s.exposed and c.relkind in ('r', 'p', 'v', 'm', 'f') and not c.relispartition
    and ${isOfUsers}
),
column_grants as (
  select distinct a.attrelid from pg_attribute a join relations c on c.oid = a.attrelid
  where a.attacl is not null
),
ownership as materialized (
  select r.oid as role, o.owner
  from roles r cross join (
    select distinct relowner from relations union select nspowner from schemas
  ) o (owner)
  where not r.rolsuper and pg_has_role(r.oid, o.owner, 'USAGE')
),
privileges as materialized (
  select r.oid as role_oid, r.name as role, r.anonymous, r.is_login, c.oid, c.name, c.relkind,
    o.owner is not null as owns,
    case when g.attrelid is null then has_table_privilege(r.oid, c.oid, 'SELECT')
      else has_any_column_privilege(r.oid, c.oid, 'SELECT') end as reads,
    case when g.attrelid is null then has_table_privilege(r.oid, c.oid, 'INSERT')
      else has_any_column_privilege(r.oid, c.oid, 'INSERT') end as inserts,
    case when g.attrelid is null then has_table_privilege(r.oid, c.oid, 'UPDATE')
      else has_any_column_privilege(r.oid, c.oid, 'UPDATE') end as updates,
    has_table_privilege(r.oid, c.oid, 'DELETE') as deletes,
    has_table_privilege(r.oid, c.oid, 'TRUNCATE') as truncates
  from roles r
    cross join relations c
    left join column_grants g on g.attrelid = c.oid
    left join ownership o on o.role = r.oid and o.owner = c.relowner
  where not r.rolsuper
),
-- The statements that end the rights of an owner which a role has as a member.
memberships as (
  select o.role, o.owner, format('revoke %I from %I%s;', granted.rolname, member.rolname,
    case when v.number >= 160000 then format(' granted by %I', pg_get_userbyid(m.grantor))
      else '' end) as revoke
  from version v cross join ownership o
    join pg_auth_members m on m.member = o.role and pg_has_role(m.roleid, o.owner, 'USAGE')
    join pg_roles granted on granted.oid = m.roleid
    join pg_roles member on member.oid = m.member
  where o.role <> o.owner
),
-- A role that may own what a role of requests owns now: the owner of the schema or of the database.
new_owners as (
  select r.oid as role, s.oid as schema, quote_ident((
    select candidate.rolname
    from pg_roles candidate
      join pg_database d on d.datname = current_database()
    where (candidate.oid in (s.nspowner, d.datdba) or candidate.oid = 10)
      and candidate.rolname !~ '^pg_'
      and (candidate.oid = 10 or not pg_has_role(r.oid, candidate.oid, 'MEMBER'))
    order by candidate.oid = s.nspowner desc, candidate.oid = d.datdba desc
    limit 1
  )) as name
  from roles r cross join schemas s
  where not r.rolsuper
)`;
