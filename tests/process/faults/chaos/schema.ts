/** The database of the chaos run: what it returns contains the identity of the request. @module */
import { subjects } from "./users.ts";

/** Rows of `api.docs` that each subject owns. */
export const docsPerSubject = 3;

/** Rows of `api.slots` that each subject owns. */
export const slotsPerSubject = 4;

/** Statement timeout of the role `clerk`. */
export const clerkTimeout = "400ms";

const roles = `
  create role writer nologin;
  create role clerk nologin;
  create role auditor nologin;
  grant writer, clerk, auditor to authenticator;
  alter role clerk set statement_timeout = '${clerkTimeout}';
  alter role auditor set default_transaction_isolation = 'repeatable read';
  grant usage on schema api to writer, clerk, auditor;
  create schema private;
`;

const reads = `
  create function api.sub() returns text stable language sql
    as $$ select current_setting('request.jwt.claims')::json->>'sub' $$;
  create function api.stamp() returns text stable language sql
    as $$ select current_setting('request.headers')::json->>'x-mark' $$;
  create function api.seen() returns jsonb stable language sql as $$
    select jsonb_build_object(
      'role', current_user, 'login', session_user, 'sub', api.sub(), 'mark', api.stamp(),
      'claimed', current_setting('request.jwt.claims')::json->>'role',
      'method', current_setting('request.method'), 'path', current_setting('request.path'),
      'cookie', current_setting('request.cookies')::json->>'c',
      'search_path', current_setting('search_path'),
      'isolation', current_setting('transaction_isolation'),
      'read_only', current_setting('transaction_read_only'),
      'timeout', current_setting('statement_timeout'),
      'zone', current_setting('timezone'), 'noon', '2020-01-01 12:00:00+00'::timestamptz) $$;
  create function api.versioned() returns jsonb stable language sql
    as $$ select jsonb_build_object('version', 0, 'reader', current_user || ':' || api.sub()) $$;
  create function api.double(n int) returns int immutable language sql as $$ select n * 2 $$;
  create function api.big(size int) returns text stable language sql
    as $$ select repeat(api.stamp() || '.', size) $$;
  create function api.fail(state text) returns int stable language plpgsql as $$
    begin raise exception using errcode = state, message = 'failed for ' || api.stamp(); end $$;

  create table api.docs (id int primary key, owner text not null, slot int not null);
  insert into api.docs
    select subject * ${docsPerSubject} + slot, 's' || subject, slot
    from generate_series(0, ${subjects - 1}) as subject, generate_series(0, ${
  docsPerSubject - 1
}) as slot;
  create table api.parts (doc_id int not null references api.docs, n int not null);
  insert into api.parts select id, n from api.docs, generate_series(1, 2) as n;
  create index on api.parts (doc_id);
  create function api.reader(api.docs) returns text stable language sql
    as $$ select current_user || ':' || api.sub() || ':' || api.stamp() $$;
  create function api.hidden(api.docs) returns int immutable language sql as $$ select $1.id * 2 $$;
  create table api.plain (id int primary key);
  insert into api.plain values (1), (2);
  create function api.secret(api.plain) returns int immutable language sql as $$ select $1.id * 3 $$;
  create view api.shown with (security_invoker = true) as select id, owner, 0 as version from api.docs;
  alter table api.docs enable row level security;
  create policy own on api.docs using (owner = api.sub());
  alter table api.parts enable row level security;
  create policy own on api.parts using (exists (select from api.docs where id = doc_id));
`;

/** The triggers that count run as the owner, with the claims of the request. */
const writes = `
  create table private.effects (operation text, mark bigint, role text, sub text, stamp text);
  create function private.count() returns trigger language plpgsql security definer
    set search_path = pg_catalog as $$
    begin
      insert into private.effects values (tg_op, case tg_op when 'DELETE' then old.mark else new.mark end,
        current_setting('role'), current_setting('request.jwt.claims')::json->>'sub',
        current_setting('request.headers')::json->>'x-mark');
      return null;
    end $$;
  create table api.entries (mark bigint not null check (mark > 0), owner text default api.sub(),
    role text default current_user, stamp text default api.stamp());
  create index on api.entries (mark);
  create table api.slots (owner text default api.sub(), slot int, mark bigint not null,
    primary key (owner, slot));
  insert into api.slots select 's' || subject, slot, 0
    from generate_series(0, ${subjects - 1}) as subject, generate_series(0, ${
  slotsPerSubject - 1
}) as slot;
  create table api.promises (mark bigint not null, owner text default api.sub(),
    doc_id int references api.docs deferrable initially deferred);
  create function private.leave_late() returns trigger language plpgsql as $$
    begin
      perform set_config('response.headers', '[{"X-Left": "late"}]', false);
      return null;
    end $$;
  create constraint trigger late after insert on api.promises deferrable initially deferred
    for each row execute function private.leave_late();
  create function private.tell() returns trigger language plpgsql as $$
    begin
      perform set_config('response.headers',
        json_build_array(json_build_object('X-Told', api.stamp()))::text, true);
      return new;
    end $$;

  create sequence private.calls;
  create function api.call_and_fail(state text, message text) returns int language plpgsql as $$
    begin
      perform nextval('private.calls');
      raise exception using errcode = state, message = message;
    end $$;
  create function api.record(mark bigint) returns jsonb language plpgsql as $$
    begin
      insert into api.entries (mark) values (mark);
      return api.seen();
    end $$;
  create function api.record_and_fail(mark bigint, name text, value text) returns jsonb
    language plpgsql as $$
    begin
      insert into api.entries (mark) values (mark);
      perform set_config(name, value, false);
      raise exception using errcode = 'P0001', message = 'failed for ' || api.stamp();
    end $$;
  create function api.record_slowly(mark bigint) returns jsonb language plpgsql as $$
    begin
      insert into api.entries (mark) values (mark);
      perform pg_sleep(60);
      return api.seen();
    end $$;
  create function api.record_and_leave(mark bigint, name text, value text) returns jsonb
    language plpgsql as $$
    declare seen jsonb := api.seen();
    begin
      insert into api.entries (mark) values (mark);
      perform set_config(name, value, false);
      return seen;
    end $$;
  create function api.leave(name text, value text) returns jsonb stable language plpgsql as $$
    declare seen jsonb := api.seen();
    begin
      perform set_config(name, value, false);
      return seen;
    end $$;
  create function api.discard(command text) returns jsonb language plpgsql as $$
    declare seen jsonb := api.seen();
    begin
      execute command;
      return seen;
    end $$;
`;

const writtenTables = ["entries", "slots", "promises"];

const rules = writtenTables.map((name) => `
  create trigger effects after insert or update or delete on api.${name}
    for each row execute function private.count();
  alter table api.${name} enable row level security;
  create policy own on api.${name} using (owner = api.sub()) with check (owner = api.sub());
  grant select, insert, update, delete on api.${name} to writer, clerk, auditor;
`).join("");

const privileges = `
  grant select on api.docs, api.parts, api.plain, api.shown to anon, writer, clerk, auditor;
  revoke execute on function api.double, api.hidden, api.secret from public;
  grant execute on function api.double, api.hidden, api.secret to writer, auditor;
  grant usage on schema private to anon, writer, clerk, auditor;
  grant usage on sequence private.calls to anon, writer, clerk, auditor;
`;

export const chaosSchema = roles + reads + writes + rules + privileges;
