/** Checks of the exposed and extra schemas, and of the functions that the configuration names.
 * @module */

import { grantee, revokeBy } from "./inputs.ts";

/** Each SELECT returns: finding, whether it concerns the anonymous role, subject, roles, objects, SQL. */
export const schemaChecks: readonly string[] = [
  `select 'schema-missing', false, quote_ident(missing.name), '{}'::text[], array[missing.key],
    array[format('create schema %I;', missing.name)]
  from (
    select value, max(key) as key from (
      select value, 'db-schemas' as key from json_array_elements_text($1::json)
      union all
      select value, 'db-extra-search-path' from json_array_elements_text($2::json)
    ) listed
    group by value
  ) missing (name, key)
  where not exists (select from pg_namespace n where n.nspname = missing.name)`,

  `select 'schema-empty', false, s.name, '{}', '{}', '{}'
  from schemas s
  where s.exposed and not exists (select from relations c where c.schema = s.name)
    and not exists (
      select from pg_proc p where p.pronamespace = s.oid and p.prokind in ('f', 'p')
        and p.prorettype not in ('trigger'::regtype, 'event_trigger'::regtype)
    )`,

  `select 'schema-usage', r.anonymous, s.name, array[r.name], '{}',
    array[format('grant usage on schema %s to %s;', s.name, r.name)]
  from roles r cross join schemas s
  where s.exposed and not has_schema_privilege(r.oid, s.oid, 'USAGE')`,

  // If the anonymous role does not exist yet, it will have only the privileges of PUBLIC.
  `select 'schema-usage', true, s.name, array[quote_ident($3::text)], '{}',
    array[format('grant usage on schema %s to %I;', s.name, $3::text)]
  from schemas s
  where s.exposed and $3::text is not null and not exists (select from roles r where r.anonymous)
    and not exists (
      select from aclexplode(s.nspacl) a where a.grantee = 0 and a.privilege_type = 'USAGE'
    )`,

  // The SQL depends on why a role has CREATE: by a grant, by a role that it inherits from, or by ownership.
  `select 'create-in-schema', bool_or(r.anonymous), s.name, array_agg(distinct r.name), '{}',
    coalesce(array_agg(distinct fix.line) filter (where fix.line is not null), '{}')
  from roles r
    join schemas s on has_schema_privilege(r.oid, s.oid, 'CREATE')
    left join lateral (
      select ${
    revokeBy("s.nspowner", `'revoke create on schema %s from %s;', s.name, ${grantee}`)
  } as line
      from aclexplode(s.nspacl) a
      where a.privilege_type = 'CREATE' and a.grantee <> s.nspowner
        and case a.grantee when 0 then true else pg_has_role(r.oid, a.grantee, 'USAGE') end
      union all
      select format(E'alter schema %s owner to %s;\\ngrant usage on schema %s to %s;',
        s.name, n.name, s.name, r.name)
      from ownership o
        join new_owners n on n.role = o.role and n.schema = s.oid
      where o.role = r.oid and o.owner = s.nspowner and o.role = o.owner and not r.is_login
      union all
      select m.revoke from memberships m
      where m.role = r.oid and m.owner = s.nspowner and not r.is_login
    ) fix on true
  where not r.rolsuper
  group by s.name`,

  // Like requests, the check looks up a name without a schema in the exposed schemas first.
  `select 'function-missing', coalesce(bool_or(lacking.anonymous), false), f.value ->> 0,
    coalesce(array_agg(distinct lacking.role) filter (where lacking.role is not null), '{}'),
    array[concat(quote_ident(f.value ->> 1) || '.', quote_ident(f.value ->> 2)), found.name,
      procedure.kind],
    coalesce(array_agg(distinct lacking.line) filter (where lacking.line is not null), '{}')
  from json_array_elements($4::json) f
    left join lateral (
      select p.oid, n.oid as schema, quote_ident(n.nspname) as schema_name,
        format('%I.%I(%s)', n.nspname, p.proname, pg_get_function_identity_arguments(p.oid)) as name
      from pg_proc p
        join pg_namespace n on n.oid = p.pronamespace
        left join schemas s on s.oid = n.oid
      where p.proname = f.value ->> 2 and p.pronargs = p.pronargdefaults and p.prokind = 'f'
        and case when f.value ->> 1 is null then s.oid is not null
          else n.nspname = f.value ->> 1 end
      order by s.position limit 1
    ) found on true
    left join lateral (
      select 'procedure' as kind
      from pg_proc p
        join pg_namespace n on n.oid = p.pronamespace
        left join schemas s on s.oid = n.oid
      where p.proname = f.value ->> 2 and p.prokind = 'p'
        and case when f.value ->> 1 is null then s.oid is not null
          else n.nspname = f.value ->> 1 end
      limit 1
    ) procedure on true
    left join lateral (
      select r.name as role, r.anonymous,
        format('grant usage on schema %s to %s;', found.schema_name, r.name) as line
      from roles r where not has_schema_privilege(r.oid, found.schema, 'USAGE')
      union all
      select r.name, r.anonymous, format('grant execute on function %s to %s;', found.name, r.name)
      from roles r where not has_function_privilege(r.oid, found.oid, 'EXECUTE')
    ) lacking on found.oid is not null
  group by f.value ->> 0, f.value ->> 1, f.value ->> 2, found.oid, found.name, procedure.kind
  having found.oid is null or bool_or(lacking.role is not null)`,
];
