/** Checks of a database whose tables are distributed by Citus. @module */
import {
  isOnWorkers,
  workersOf,
} from "../../../../state/schema_cache/queries/distributed_relations.ts";
import { functionName, functionPath, inputs } from "./inputs.ts";
import { ownersViews } from "./relation_checks.ts";

/** Tables on workers, and views of these tables, in all schemas. The query needs the catalogue of Citus. */
const distributed = `(${workersOf(isOnWorkers)}
    select c.oid, c.relname, format('%I.%I', n.nspname, c.relname) as name
    from workers join pg_class c using (oid) join pg_namespace n on n.oid = c.relnamespace)`;

/** The functions of all schemas that name a relation of `distributed` in their text or parsed body. */
const functions = `pg_proc p
    join (select oid, nspname, quote_ident(nspname) as name from pg_namespace
      where nspname !~ '^(pg_|information_schema$)') s on s.oid = p.pronamespace
    join ${distributed} d on p.prosrc ~ ('(^|[^A-Za-z0-9_])'
        || regexp_replace(d.relname, '([^A-Za-z0-9_])', '\\\\\\1', 'g') || '($|[^A-Za-z0-9_])')
      or exists (
        select from pg_depend u where u.classid = 'pg_proc'::regclass and u.objid = p.oid
          and u.refclassid = 'pg_class'::regclass and u.refobjid = d.oid
      )`;

/** The roles with which Citus connects to workers, and the relations or functions that they use. A
 * SECURITY DEFINER function connects as its owner. */
const users = `(select p.role_oid as oid, d.name
    from privileges p join ${distributed} d on d.oid = p.oid
    where p.reads or p.inserts or p.updates or p.deletes
    union
    select p.proowner, ${functionName} from ${functions} where p.prosecdef)`;

/** Each SELECT returns: finding, whether it concerns the anonymous role, subject, roles, objects, SQL. */
export const distributedChecks: readonly string[] = [
  `select 'citus-settings', false, d.name, '{}', '{}', '{}'
  from ${distributed} d
  where current_setting('citus.propagate_set_commands', true) is null
    and exists (select from pg_policy y where y.polrelid = d.oid)`,

  `select 'citus-login', r.rolname is not distinct from $3::text, quote_ident(r.rolname), '{}',
    array_agg(u.name order by u.name), array[format('alter role %I login;', r.rolname)]
  from ${users} u join pg_roles r on r.oid = u.oid and not r.rolcanlogin
  group by r.rolname`,

  // The SQL adds a setting, because PostgreSQL does not inline a function with a setting.
  `select 'citus-inlined', false, ${functionName}, '{}', array_agg(distinct d.name),
    array[format('alter function %s set search_path = %s;', ${functionName}, ${functionPath})]
  from ${functions}
    join pg_language l on l.oid = p.prolang and l.lanname = 'sql'
  where p.proretset and p.prokind = 'f' and p.provolatile <> 'v' and not p.proisstrict
    and not p.prosecdef and p.proconfig is null
  group by p.oid, s.name, s.nspname, p.proname`,

  ownersViews("citus-view", "t.oid in (select logicalrelid from pg_catalog.pg_dist_partition)"),
];

/**
 * Connects to each worker as each role that uses a distributed table and that the login role may
 * set. Returns the findings as JSON. The role names are first collected in an array, because the
 * current role changes afterwards.
 */
export const workersQuery = `with recursive ${inputs},
asked (names) as materialized (
  select coalesce(array_agg(distinct r.rolname), '{}')
  from ${users} u join pg_roles r on r.oid = u.oid and r.rolcanlogin
    join login l on pg_has_role(l.oid, r.oid, l.set_option)
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
