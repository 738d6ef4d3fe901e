/** Checks of a database whose tables Citus distributes over servers. @module */
import { functionName, functionPath, inputs } from "./inputs.ts";
import { ownersViews } from "./relation_checks.ts";

/** The exposed relations that workers have. Its table exists with Citus alone. */
const distributed = `(select c.oid, c.relname, c.name
    from relations c join pg_catalog.pg_dist_partition p on p.logicalrelid = c.oid)`;

/** Whether the text or the parsed body of the function `p` names the relation `d`. */
const isNamed = `(p.prosrc ~ ('(^|[^A-Za-z0-9_])'
        || regexp_replace(d.relname, '([^A-Za-z0-9_])', '\\\\\\1', 'g') || '($|[^A-Za-z0-9_])')
      or exists (
        select from pg_depend u where u.classid = 'pg_proc'::regclass and u.objid = p.oid
          and u.refclassid = 'pg_class'::regclass and u.refobjid = d.oid
      ))`;

/** Each SELECT returns finding, whether it concerns the anonymous role, subject, roles, objects, SQL. */
export const distributedChecks: readonly string[] = [
  `select 'citus-settings', false, d.name, '{}', '{}', '{}'
  from ${distributed} d
  where current_setting('citus.propagate_set_commands', true) is null
    and exists (select from pg_policy y where y.polrelid = d.oid)`,

  `select 'citus-login', p.anonymous, p.role, '{}', array_agg(d.name order by d.name),
    array[format('alter role %s login;', p.role)]
  from privileges p
    join ${distributed} d on d.oid = p.oid
    join pg_roles r on r.oid = p.role_oid and not r.rolcanlogin
  where p.reads or p.inserts or p.updates or p.deletes
  group by p.role, p.anonymous`,

  // Citus connects as the current user, which is the owner in such a function.
  `select 'citus-login', false, quote_ident(r.rolname), '{}', array_agg(distinct ${functionName}),
    array[format('alter role %I login;', r.rolname)]
  from pg_proc p
    join schemas s on s.oid = p.pronamespace
    join pg_roles r on r.oid = p.proowner and not r.rolcanlogin
    join (
      select c.oid, c.relname from pg_class c
        join pg_catalog.pg_dist_partition o on o.logicalrelid = c.oid
    ) d on ${isNamed}
  where p.prosecdef and r.oid not in (select role_oid from privileges)
  group by r.rolname`,

  // The conditions of \`inline_set_returning_function()\`. A setting of the function keeps it whole.
  `select 'citus-inlined', false, ${functionName}, '{}', array_agg(distinct d.name),
    array[format('alter function %s set search_path = %s;', ${functionName}, ${functionPath})]
  from pg_proc p
    join schemas s on s.oid = p.pronamespace
    join pg_language l on l.oid = p.prolang and l.lanname = 'sql'
    join ${distributed} d on ${isNamed}
  where p.proretset and p.prokind = 'f' and p.provolatile <> 'v' and not p.proisstrict
    and not p.prosecdef and p.proconfig is null
  group by p.oid, s.name, s.nspname, p.proname`,

  ownersViews("citus-view", "t.oid in (select logicalrelid from pg_catalog.pg_dist_partition)"),
];

/**
 * Connects to each worker as each role that may use a distributed table. Returns the findings as JSON. The names
 * of the roles are an array, which is complete before the first of them is taken.
 */
export const workersQuery = `with recursive ${inputs},
asked (names) as materialized (
  select coalesce(array_agg(distinct r.rolname), '{}')
  from privileges p
    join ${distributed} d on d.oid = p.oid
    join pg_roles r on r.oid = p.role_oid and r.rolcanlogin
  where p.reads or p.inserts or p.updates or p.deletes
),
refused (role, nodes) as (
  select role, array_agg(concat(n.nodename, ':', n.nodeport) order by n.nodename, n.nodeport)
  from asked cross join unnest(names) role cross join pg_catalog.pg_dist_node n
  where n.isactive and n.noderole = 'primary' and n.groupid <> 0
    and not pg_catalog.citus_check_connection_to_node(
      case when pg_catalog.set_config('role', role, true) is not null then n.nodename end, n.nodeport)
  group by role
)
select coalesce(json_agg(json_build_array('citus-worker', role is not distinct from $3::text,
  quote_ident(role), '{}'::text[], nodes, '{}'::text[]) order by role), '[]')::text
from refused`;
