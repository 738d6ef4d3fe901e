-- svc_live records which tables change, while a service polls.
begin read write;
create schema if not exists svc_live;
do $$ begin
  if (select r.rolname <> current_user from pg_namespace n join pg_roles r on r.oid = n.nspowner
    where n.nspname = 'svc_live') then raise exception 'svc_live has another owner'; end if;
end $$;
create sequence if not exists svc_live.reader_until;
create unlogged table if not exists svc_live.change (
  xid xid8 not null default pg_current_xact_id(), relation oid not null, scope text collate "C");
create unlogged table if not exists svc_live.epoch (xid xid8 primary key);
create or replace function svc_live.changed() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$ begin
  if (select last_value from svc_live.reader_until) >= extract(epoch from clock_timestamp()) then
    insert into svc_live.change (relation) values (tg_relid);
  end if; return null; end $$;
create or replace function svc_live.changes(since pg_snapshot) returns table (relation oid, scope text)
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select distinct c.relation, c.scope from svc_live.change c where not pg_visible_in_snapshot(c.xid, since)
  union all select 0, (select e.xid::text from svc_live.epoch e order by e.xid limit 1) $$;
create or replace function svc_live.renew(seen pg_snapshot) returns void
language sql security definer set search_path = pg_catalog, pg_temp as $$
  delete from svc_live.change c where pg_visible_in_snapshot(c.xid, seen);
  insert into svc_live.epoch select pg_current_xact_id() where not exists (select from svc_live.epoch);
  select setval('svc_live.reader_until', greatest(last_value, extract(epoch from clock_timestamp())::bigint + 20))
  from svc_live.reader_until $$;
create or replace function svc_live."scope_customer_id"() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_variable
begin
  if (select last_value from svc_live.reader_until) < extract(epoch from clock_timestamp()) then return null;
  elsif tg_argv[0] not in (select attname from pg_attribute where attrelid = tg_relid)
  then insert into svc_live.change (relation) values (tg_relid);
  elsif tg_op = 'INSERT' then insert into svc_live.change (relation, scope) select tg_relid, concat(r."customer_id") collate "C" from new_rows r group by 2;
  elsif tg_op = 'DELETE' then insert into svc_live.change (relation, scope) select tg_relid, concat(r."customer_id") collate "C" from old_rows r group by 2;
  else insert into svc_live.change (relation, scope) select tg_relid, concat(r."customer_id") collate "C" from old_rows r union select tg_relid, concat(r."customer_id") collate "C" from new_rows r;
  end if; return null; end $$;
revoke execute on all functions in schema svc_live from public;
grant usage on schema svc_live to "postgres";
grant execute on function svc_live.changes(pg_snapshot), svc_live.renew(pg_snapshot) to "postgres";
create or replace trigger svc_live after truncate on "api"."orders"
  for each statement execute function svc_live.changed();
alter table "api"."orders" enable always trigger svc_live;
create or replace trigger svc_live_insert after insert on "api"."orders" referencing new table as new_rows
  for each statement execute function svc_live."scope_customer_id"("customer_id");
alter table "api"."orders" enable always trigger svc_live_insert;
create or replace trigger svc_live_update after update on "api"."orders" referencing old table as old_rows new table as new_rows
  for each statement execute function svc_live."scope_customer_id"("customer_id");
alter table "api"."orders" enable always trigger svc_live_update;
create or replace trigger svc_live_delete after delete on "api"."orders" referencing old table as old_rows
  for each statement execute function svc_live."scope_customer_id"("customer_id");
alter table "api"."orders" enable always trigger svc_live_delete;
create or replace trigger svc_live after insert or update or delete or truncate on "api"."lines"
  for each statement execute function svc_live.changed();
alter table "api"."lines" enable always trigger svc_live;
drop trigger if exists svc_live_insert on "api"."lines";
drop trigger if exists svc_live_update on "api"."lines";
drop trigger if exists svc_live_delete on "api"."lines";
create or replace trigger svc_live after insert or update or delete or truncate on "api"."products"
  for each statement execute function svc_live.changed();
alter table "api"."products" enable always trigger svc_live;
drop trigger if exists svc_live_insert on "api"."products";
drop trigger if exists svc_live_update on "api"."products";
drop trigger if exists svc_live_delete on "api"."products";
create or replace trigger svc_live after insert or update or delete or truncate on "api"."customers"
  for each statement execute function svc_live.changed();
alter table "api"."customers" enable always trigger svc_live;
drop trigger if exists svc_live_insert on "api"."customers";
drop trigger if exists svc_live_update on "api"."customers";
drop trigger if exists svc_live_delete on "api"."customers";
create or replace trigger svc_live after insert or update or delete or truncate on "api"."memberships"
  for each statement execute function svc_live.changed();
alter table "api"."memberships" enable always trigger svc_live;
drop trigger if exists svc_live_insert on "api"."memberships";
drop trigger if exists svc_live_update on "api"."memberships";
drop trigger if exists svc_live_delete on "api"."memberships";
commit;
