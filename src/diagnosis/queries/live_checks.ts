/** Checks of the triggers that record changes for live queries. @module */

/**
 * Common table expressions. `live_uses` are the relations below the exposed ones, once a table has such a trigger;
 * `is_live` means a partition of a recorded table, or a table of its policies.
 */
export const liveInputs = `
live_triggers as materialized (
  select g.tgrelid, p.proname from pg_trigger g join pg_proc p on p.oid = g.tgfoid
  where p.pronamespace = to_regnamespace('svc_live') and g.tgenabled <> 'D'
),
live_uses (classid, oid, is_live) as (
  select 'pg_class'::regclass::oid, c.oid, false from relations c
  where c.relkind in ('r', 'p', 'v') and exists (select from live_triggers)
  union
  select d.refclassid, d.refobjid, d.spreads and (u.is_live or u.oid in (select tgrelid from live_triggers))
  from live_uses u cross join lateral (
    select d.refclassid, d.refobjid, o.spreads from (
      select 'pg_rewrite'::regclass::oid as classid, w.oid as objid, false as spreads
      from pg_rewrite w join pg_class v on v.oid = w.ev_class and v.relkind = 'v' where w.ev_class = u.oid
      union all select 'pg_policy'::regclass, y.oid, true from pg_policy y where y.polrelid = u.oid
      union all select u.classid, u.oid, true where u.classid = 'pg_proc'::regclass
    ) o join pg_depend d on d.classid = o.classid and d.objid = o.objid
    where d.refclassid in ('pg_class'::regclass, 'pg_proc'::regclass) and d.refobjid >= 16384
    union all select u.classid, h.inhrelid, true from pg_inherits h where h.inhparent = u.oid
  ) d
),
unrecorded as (
  select u.oid::regclass::text as name, bool_or(u.is_live) as is_live,
    format(E'create or replace trigger svc_live after insert or update or delete or truncate on %s\\n'
      '  for each statement execute function svc_live.changed();\\n'
      'alter table %1$s enable always trigger svc_live;', u.oid::regclass) as statement
  from live_uses u join pg_class c on c.oid = u.oid and c.relkind in ('r', 'p')
  where u.classid = 'pg_class'::regclass and u.oid not in (select tgrelid from live_triggers) group by u.oid
)`;

/** Each SELECT returns finding, whether it concerns the anonymous role, subject, roles, objects, SQL. */
export const liveChecks: readonly string[] = [
  `select 'live-trigger', false, name, '{}'::text[], '{}'::text[], array[statement] from unrecorded where is_live`,
  `select 'live-table', false, 'svc_live', '{}', array_agg(name order by name), array_agg(statement order by name)
  from unrecorded where not is_live having count(*) > 0`,
  `select 'live-column', false, t.tgrelid::regclass::text, '{}', array[substr(t.proname, 7)], array[format(
    E'drop trigger svc_live_insert on %s;\\ndrop trigger svc_live_update on %1$s;\\ndrop trigger svc_live_delete on %1$s;\\n'
    'create or replace trigger svc_live after insert or update or delete or truncate on %1$s\\n'
    '  for each statement execute function svc_live.changed();', t.tgrelid::regclass)]
  from live_triggers t where t.proname ~ '^scope_' and not exists (
    select from pg_attribute a where a.attrelid = t.tgrelid and a.attname = substr(t.proname, 7)
  ) group by t.tgrelid, t.proname`,
];
