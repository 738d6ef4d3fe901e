-- Notes that several devices change while they are offline.
create schema api;
create sequence api.revisions;
create table api.notes (
  id uuid primary key,
  text text not null,
  edited_at timestamptz not null,
  is_deleted boolean not null default false,
  -- Grows with every change, for all notes. Devices ask for what they have not seen.
  revision bigint not null default 0
);
create index on api.notes (revision);

-- Writers take turns until their commit: a revision that a device sees has no smaller one behind it.
create function api.take_turn() returns trigger language plpgsql as $$
begin
  perform pg_advisory_xact_lock('api.notes'::regclass::oid::bigint);
  return null;
end $$;
create function api.next_revision() returns trigger language plpgsql as $$
begin
  new.revision := nextval('api.revisions');
  return new;
end $$;
create trigger take_turn before insert or update on api.notes
  for each statement execute function api.take_turn();
create trigger next_revision before insert or update on api.notes
  for each row execute function api.next_revision();

create role device;
grant usage on schema api to device;
grant select, insert, update on api.notes to device;
grant usage on api.revisions to device;
