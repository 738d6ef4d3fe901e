/** Checks of policies, and of reads that bypass them. @module */
import { isNotOfExtension } from "../../../../state/schema_cache/queries/extensions.ts";
import { functionName, grantee, grantsOf, revokeBy } from "./inputs.ts";

/** Condition: a node tree has a constant with the text. PostgreSQL prints the constant as bytes. */
const hasText = (tree: string, text: string): string =>
  `${tree} like '%${[...new TextEncoder().encode(text)].join(" ")}%'`;

/** Condition: a node tree is the constant `true`. */
const isTrue = (tree: string): string =>
  `coalesce(${tree} like '{CONST :consttype 16 %:constvalue 1 [ 1 0 %', false)`;

/** Expression: a policy's condition as text. PostgreSQL opens the table to print it, which takes time. */
export const conditionOf = (
  policy: string,
  column: "polqual" | "polwithcheck" = "polqual",
): string => `pg_get_expr(${policy}.${column}, ${policy}.polrelid)`;

/** Expression: the names of the roles in `pg_policy.polroles`, such as `public, web_user`. */
const rolesOf = (roles: string): string =>
  `(select string_agg(case x when 0 then 'public' else quote_ident(pg_get_userbyid(x)) end, ', ')
    from unnest(${roles}) x)`;

/**
 * Common table expressions.
 *
 * - `locked`: tables with an exclusive lock, and tables whose policies read such a table.
 *   `pg_get_expr()` would wait for the lock, so the diagnosis leaves out these tables.
 * - `tables`: relations of the exposed schemas, and relations below their views. `rows` is an
 *   estimate.
 * - `policies`: the policies of `tables`. `label` is `doc_own on api.doc`.
 * - `policy_functions`: the user-defined functions that a policy calls, directly or by an operator.
 * - `recipients`: the roles that policies are for.
 * - `decisions`: the policies that apply when a role uses a command for which it has the privilege.
 *   `passing` is the number of permissive policies. `is_open` means that one of these is `true`, so
 *   that PostgreSQL evaluates no permissive policy.
 */
export const policyInputs = `
exclusive as materialized (
  select l.relation from pg_locks l
  where l.locktype = 'relation' and l.mode = 'AccessExclusiveLock' and l.pid <> pg_backend_pid()
    and l.database = (select d.oid from pg_database d where d.datname = current_database()) ),
locked (oid) as materialized (
  select relation from exclusive
  union
  select y.polrelid from exclusive e
    join pg_depend d on d.classid = 'pg_policy'::regclass and d.refclassid = 'pg_class'::regclass
      and d.refobjid = e.relation join pg_policy y on y.oid = d.objid ),
tables as materialized (
  select c.oid, c.oid::regclass::text as name, c.relname, c.relkind, c.relrowsecurity, c.relowner,
    case when c.reltuples > 0 then c.reltuples else pg_stat_get_live_tuples(c.oid) end::bigint as rows
  from (select oid from relations union select relation from direct_uses) u
    join pg_class c on c.oid = u.oid and c.relkind in ('r', 'p')
  where c.relnamespace <> 'pg_catalog'::regnamespace and c.oid not in (select oid from locked) ),
policies as materialized (
  select y.oid, y.polname, y.polrelid, y.polcmd, y.polpermissive, y.polroles, t.relrowsecurity,
    t.name as relation, quote_ident(y.polname) as policy, format('%I on %s', y.polname, t.name) as label,
    ${isTrue("y.polqual::text")} as is_true, ${
  isTrue("coalesce(y.polwithcheck, y.polqual)::text")
} as is_new_true
  from pg_policy y join tables t on t.oid = y.polrelid ),
policy_functions as materialized (
  select distinct d.objid as policy, p.oid, p.provolatile, format('%I.%I', n.nspname, p.proname) as name
  from pg_depend d left join pg_operator o on d.refclassid = 'pg_operator'::regclass and o.oid = d.refobjid
    join pg_proc p on p.oid = case d.refclassid when 'pg_proc'::regclass then d.refobjid else o.oprcode end
    join pg_namespace n on n.oid = p.pronamespace where d.classid = 'pg_policy'::regclass
    and d.refclassid in ('pg_proc'::regclass, 'pg_operator'::regclass) ),
recipients as materialized (
  select r.oid as role, y.polroles from roles r cross join (select distinct polroles from policies) y
  where exists (select from unnest(y.polroles) x where x = 0 or pg_has_role(r.oid, x, 'USAGE')) ),
decisions as materialized (
  select y.oid, y.relation, y.policy, y.label, y.polcmd, y.polpermissive, y.is_true, y.is_new_true, p.role, p.anonymous,
    p.reads, k.cmd, k.command, count(*) filter (where y.polpermissive) over decided as passing,
    bool_or(not y.polpermissive) over decided as is_restricted,
    bool_or(y.polpermissive and (k.cmd = 'a' or y.is_true) and (k.cmd not in ('a', 'w') or y.is_new_true))
      over decided as is_open
  from policies y join recipients c on c.polroles = y.polroles
    join privileges p on p.oid = y.polrelid and p.role_oid = c.role and not p.owns
    cross join (values ('r'::"char", 'select'), ('a', 'insert'), ('w', 'update'), ('d', 'delete')) k (cmd, command)
  where y.relrowsecurity and y.polcmd in (k.cmd, '*')
    and case k.cmd when 'r' then p.reads when 'a' then p.inserts when 'w' then p.updates else p.deletes end
  window decided as (partition by p.role_oid, y.polrelid, k.cmd)
)`;

/** Each SELECT returns: finding, whether it concerns the anonymous role, subject, roles, objects, SQL. */
export const policyChecks: readonly string[] = [
  `select 'policy-without-rls', false, y.relation, '{}'::text[], array_agg(y.policy order by y.polname),
    array[format('alter table %s enable row level security;', y.relation)]
  from policies y where not y.relrowsecurity group by y.relation`,

  // A missing EXECUTE makes each request fail: PostgreSQL checks it before it reads a row.
  `select 'policy-function', bool_or(d.anonymous), f.oid::regprocedure::text, array_agg(distinct d.role),
    array_agg(distinct d.relation), array_agg(distinct format('grant execute on function %s to %s;',
      f.oid::regprocedure, d.role))
  from decisions d join roles r on r.name = d.role join policy_functions f on f.policy = d.oid
  where not has_function_privilege(r.oid, f.oid, 'EXECUTE') group by f.oid`,

  `select 'policy-user-metadata', false, y.label, '{}', '{}', '{}'
  from policies y join pg_policy p on p.oid = y.oid
  where ${hasText("concat(p.polqual, p.polwithcheck)", "user_metadata")}`,

  `select 'restrictive-only', bool_or(d.anonymous), d.relation, array_agg(distinct d.role),
    array_agg(distinct d.command), '{}' from decisions d where d.passing = 0 group by d.relation`,

  // The SQL adds a policy for SELECT, which UPDATE and DELETE with WHERE also need.
  `select 'select-policy-missing', bool_or(d.anonymous), d.relation, array_agg(distinct d.role),
    array_agg(distinct d.command), array_agg(distinct format('create policy %I on %s for select to %s using (%s);',
      left(y.polname, 58) || '_read', d.relation, ${rolesOf("y.polroles")}, ${conditionOf("y")}))
  from decisions d join pg_policy y on y.oid = d.oid and y.polqual is not null
  where d.reads and d.polpermissive and d.polcmd in ('w', 'd') and (d.relation, d.role) not in (
      select r.relation, r.role from decisions r where r.polpermissive and r.cmd = 'r' ) group by d.relation`,

  // A policy for all commands causes no finding if the role has one of the privileges.
  `select 'policy-without-grant', bool_or(p.anonymous), y.label, array_agg(p.role order by p.role),
    array[k.command], array_agg(format('grant %s on %s to %s;', k.command, p.name, p.role) order by p.role)
  from policies y join privileges p on p.oid = y.polrelid and p.role_oid = any(y.polroles)
    join (values ('r'::"char", 'select'), ('a', 'insert'), ('w', 'update'), ('d', 'delete'),
      ('*', 'select')) k (cmd, command) on k.cmd = y.polcmd
  where y.polpermissive and y.relrowsecurity and not case k.cmd when 'r' then p.reads
      when 'a' then p.inserts when 'w' then p.updates when 'd' then p.deletes
      else p.reads or p.inserts or p.updates or p.deletes end group by y.label, k.command`,

  // If a restrictive policy bounds the rows, a permissive policy that is `true` causes no finding.
  `select 'write-policy-true', bool_or(d.anonymous), d.label, array_agg(distinct d.role),
    array_agg(distinct d.command), '{}' from decisions d where d.polpermissive and not d.is_restricted and (
      d.cmd in ('w', 'd') and d.is_true or d.cmd in ('a', 'w') and d.is_new_true ) group by d.label`,

  // The REVOKE from PUBLIC also affects roles of tokens, so the SQL grants EXECUTE to each of them.
  `select 'definer-callable', bool_or(a.grantee = 0), ${functionName}, array[r.name], '{}', array_agg(${
    revokeBy(
      "p.proowner",
      `'revoke execute on function %s from %s;', ${functionName}, ${grantee}`,
    )
  } order by a.grantee) || (
      select array_agg(format('grant execute on function %s to %s;', ${functionName}, other.names)) from (
        select string_agg(o.name, ', ' order by o.name) as names from roles o
        where not o.anonymous and not o.rolsuper and o.oid <> p.proowner
          and has_schema_privilege(o.oid, s.oid, 'USAGE')
          and has_function_privilege(o.oid, p.oid, 'EXECUTE') and not pg_has_role(r.oid, o.oid, 'USAGE') ) other
      where other.names is not null and bool_or(a.grantee = 0) ) from pg_proc p
    join schemas s on s.oid = p.pronamespace and s.exposed
    join roles r on r.anonymous and not r.rolsuper and has_schema_privilege(r.oid, s.oid, 'USAGE')
    cross join lateral aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
  where p.prosecdef and p.prokind = 'f' and a.privilege_type = 'EXECUTE' and a.grantee <> p.proowner
    and p.prorettype not in ('trigger'::regtype, 'event_trigger'::regtype)
    and case a.grantee when 0 then true else pg_has_role(r.oid, a.grantee, 'USAGE') end
    and not exists (select from json_array_elements($4::json) f where f.value ->> 2 = p.proname)
    and ${isNotOfExtension("pg_proc", "p")}
  group by p.oid, p.proname, p.proowner, s.oid, s.name, r.oid, r.name`,

  // Policies do not apply to foreign tables, and not to the rows that a materialized view has copied.
  `select 'copy-exposed', bool_or(p.anonymous), c.name, array_agg(distinct p.role),
    coalesce(below.names, '{"a foreign server"}'), array_agg(distinct ${
    revokeBy("c.relowner", `'revoke select on %s from %s;', c.name, ${grantee}`)
  }) from privileges p join relations c on c.oid = p.oid and c.relkind in ('m', 'f') cross join lateral (
      select array_agg(t.name order by t.relname) as names
      from (select distinct relation from direct_uses where view = c.oid) u
        join tables t on t.oid = u.relation and t.relrowsecurity ) below join ${
    grantsOf("'SELECT'")
  }
  where p.reads and not p.owns and (c.relkind = 'f' or below.names is not null) group by c.name, below.names`,

  `select 'policy-volatile', false, y.label, '{}', array_agg(f.oid::regprocedure::text order by f.name),
    array_agg(format('alter function %s stable;', f.oid::regprocedure) order by f.name) from policies y
    join policy_functions f on f.policy = y.oid and f.provolatile = 'v'
  where ${isNotOfExtension("pg_proc", "f")}
  group by y.label`,

  `select 'policies-merge', bool_or(d.anonymous), d.relation, array_agg(distinct d.role),
    array_agg(distinct d.policy), '{}' from decisions d
  where d.passing > 1 and d.polpermissive and not d.is_open
  group by d.relation`,
];
