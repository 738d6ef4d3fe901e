/** Checks of the triggers that record changes for live queries. @module */

/** Common table expressions. `live_uses` are recorded tables, their partitions, and relations that
 * policies of these tables use. */
export const liveInputs = `
live_triggers as materialized (
  select g.tgrelid from pg_trigger g join pg_proc p on p.oid = g.tgfoid
  where p.pronamespace = to_regnamespace('svc_live') and g.tgenabled <> 'D'
),
live_uses (classid, oid) as (
  select 'pg_class'::regclass::oid, tgrelid from live_triggers
  union
  select d.refclassid, d.refobjid from live_uses u cross join lateral (
    select d.refclassid, d.refobjid from (
      select 'pg_policy'::regclass::oid as classid, y.oid as objid from pg_policy y where y.polrelid = u.oid
      union all select u.classid, u.oid where u.classid = 'pg_proc'::regclass
    ) o join pg_depend d on d.classid = o.classid and d.objid = o.objid
    where d.refclassid in ('pg_class'::regclass, 'pg_proc'::regclass) and d.refobjid >= 16384
    union all select u.classid, h.inhrelid from pg_inherits h where h.inhparent = u.oid
  ) d
)`;

/** Returns: finding, whether it concerns the anonymous role, subject, roles, objects, SQL. */
export const liveCheck = `
select 'live-trigger', false, c.oid::regclass::text, '{}'::text[], '{}'::text[], array[format(
  E'create or replace trigger svc_live after insert or update or delete or truncate on %s\\n'
  '  for each statement execute function svc_live.changed();\\n'
  'alter table %1$s enable always trigger svc_live;', c.oid::regclass)]
from pg_class c where c.relkind in ('r', 'p') and c.oid not in (select tgrelid from live_triggers)
  and c.oid in (select oid from live_uses where classid = 'pg_class'::regclass)`;
