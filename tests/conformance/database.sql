-- The database of the conformance table, for PostgreSQL 14 and later: run it once, as a role that may
-- create roles, in an empty database. The roles begin with "conf_"; a server logs in as conf_login.
do $$ begin
  create role conf_login login noinherit password 'conf_login';
exception when duplicate_object then null; end $$;
do $$ begin create role conf_anon nologin; exception when duplicate_object then null; end $$;
do $$ begin create role conf_user nologin; exception when duplicate_object then null; end $$;
do $$ begin create role conf_other nologin; exception when duplicate_object then null; end $$;
grant conf_anon, conf_user to conf_login;
alter role conf_user set statement_timeout = '11s';

create schema api;
create schema other;
create schema private;
comment on schema api is E'Tools\n\nThe tools of a workshop.';

-- Tools, their makers, a manual for some, and sheds that tools are kept in.
create table api.makers (id int primary key, name text not null, city text);
create table api.tools (
  id int primary key,
  name text not null,
  maker_id int references api.makers,
  price numeric check (price >= 0),
  spec jsonb,
  tags text[],
  bought date
);
create table api.manuals (tool_id int primary key references api.tools, pages int);
create table api.sheds (id int primary key, title text);
create table api.tool_sheds (
  tool_id int references api.tools,
  shed_id int references api.sheds,
  qty int,
  primary key (tool_id, shed_id)
);
comment on table api.tools is E'All tools\n\nOld ones too.';
comment on column api.tools.price is 'in euros';
insert into api.makers values (1, 'Bosk', 'Ulm'), (2, 'Ryo', 'Kobe'), (3, 'Idle', null);
insert into api.tools values
  (1, 'saw', 1, 30.50, '{"w": {"kg": 2, "unit": "kg"}, "colors": ["red", "blue"]}', '{cut,wood}', '2024-01-02'),
  (2, 'drill', 1, 99, '{"w": {"kg": 3}}', '{hole}', '2024-02-03'),
  (3, 'plane', 2, 45, null, '{wood}', null),
  (4, 'relic', null, null, '{}', '{}', null);
insert into api.manuals values (1, 12), (2, 40);
insert into api.sheds values (1, 'north'), (2, 'south');
insert into api.tool_sheds values (1, 1, 2), (1, 2, 1), (2, 1, 5);
create view api.dear_tools as select id, name, price from api.tools where price > 40;
create view api.cities as select city, count(*) as makers from api.makers group by city;
create materialized view api.tool_names as select id, name, maker_id from api.tools;
create function api.shout(api.tools) returns text stable language sql
  as $$ select upper($1.name) $$;
create function api.pricey(api.makers) returns setof api.tools stable language sql
  as $$ select * from api.tools where maker_id = $1.id and price > 40 $$;
create function api.latest(api.makers) returns setof api.tools rows 1 stable language sql
  as $$ select * from api.tools where maker_id = $1.id order by bought desc nulls last limit 1 $$;

-- Visits of sites, with two keys to people; people have bosses and badges.
create table api.people (id int primary key, name text, boss_id int references api.people);
create table api.badges (person_id int primary key references api.people, code text);
create table api.sites (id int primary key, name text);
create table api.visits (
  id int primary key,
  site_id int constraint visits_site references api.sites,
  guide_id int constraint visits_guide references api.people,
  guest_id int constraint visits_guest references api.people
);
create view api.open_visits as select id, site_id, guide_id from api.visits;
insert into api.people values (1, 'Ann', null), (2, 'Ben', 1), (3, 'Cleo', 1);
insert into api.badges values (1, 'A1'), (2, 'B2');
insert into api.sites values (1, 'mill'), (2, 'dam');
insert into api.visits values (1, 1, 1, 2), (2, 1, 2, 3), (3, 2, 1, null);

-- Fifteen rows, none, and partitions.
create table api.numbers (id int primary key);
insert into api.numbers select generate_series(1, 15);
create table api.nothing (id int primary key);
create table api.readings (day date, value int, primary key (day)) partition by range (day);
create table api.readings_2024 partition of api.readings for values from ('2024-01-01') to ('2025-01-01');
insert into api.readings values ('2024-05-01', 7), ('2024-06-01', 8);

-- Types and names.
create type api.mood as enum ('sad', 'ok', 'happy');
create type api.spot as (lat int, lon int);
create table api.things (
  id int primary key,
  flag boolean,
  words text,
  search tsvector,
  span int4range,
  doc jsonb,
  raw json,
  place api.spot,
  feeling api.mood,
  code varchar(4),
  at timestamptz
);
insert into api.things values
  (1, true, 'the quick fox', to_tsvector('english', 'the quick fox'), '[1,5)', '{"a": 1, "b": {"c": "x"}}', '{"k":  1}', '(19,7)', 'ok', 'aa', '2024-01-01 12:00:00+00'),
  (2, false, 'lazy dogs', to_tsvector('english', 'lazy dogs'), '[5,9)', '{"a": 2}', null, '(20,8)', 'happy', 'bb', '2024-07-01 12:00:00+00'),
  (3, null, 'a,b (c) "d"', null, null, '[1, 2]', null, null, null, null, null);
create table api."odd names" (
  "a b" int primary key, "c.d" text, "order" int, "é" text, "q""t" text, "and" int
);
insert into api."odd names" values (1, 'x', 5, 'ü', 'y', 1), (2, 'z', 6, 'ö', 'w', 2);

-- What writes need: defaults of all kinds, no key, something deferred, letters to be written only.
create table api.jobs (
  id bigint generated by default as identity primary key,
  kind text,
  prio int default 5,
  twice int generated always as (prio * 2) stored
);
create table api.notes (a text, b text);
create table api.letters (id int primary key, body text);
create table api.pairs (id int primary key, other int references api.pairs deferrable initially deferred);
create table api.users (name text primary key, mail text unique, age int default 7);
insert into api.users values ('ada', 'a@x', 30), ('bob', 'b@x', 40);
create table api.kept (id int primary key, word text);
insert into api.kept values (1, 'one');
create table api.secrets (id int primary key, word text);
insert into api.secrets values (1, 'hush');
create table api.owned (id int primary key, owner text);
insert into api.owned values (1, 'ada'), (2, 'bob'), (3, 'ada');
alter table api.owned enable row level security;
create policy own on api.owned using (owner = current_setting('request.jwt.claims', true)::json ->> 'sub');

-- A view with triggers, and a table whose trigger sets status and headers.
create view api.inbox as select a, b from api.notes group by a, b;
create function private.to_notes() returns trigger language plpgsql as $$
begin insert into api.notes values (new.a, new.b); return new; end $$;
create trigger insert_inbox instead of insert on api.inbox for each row execute function private.to_notes();
create table api.signals (id int primary key, status text, headers text);
create function private.signal() returns trigger language plpgsql as $$
begin
  perform set_config('response.status', coalesce(new.status, ''), true);
  perform set_config('response.headers', coalesce(new.headers, ''), true);
  return new;
end $$;
create trigger signal before insert on api.signals for each row execute function private.signal();

-- Domains that show themselves as JSON, and read themselves from JSON and text.
create domain api.color as int;
create function private.color_json(api.color) returns json immutable language sql
  as $$ select to_json('#' || lpad(upper(to_hex($1)), 6, '0')) $$;
create function private.color_text(text) returns api.color immutable language sql
  as $$ select ('x' || lpad(ltrim($1, '#'), 8, '0'))::bit(32)::int $$;
create function private.color_from(json) returns api.color immutable language sql
  as $$ select private.color_text($1 #>> '{}') $$;
create cast (api.color as json) with function private.color_json(api.color) as implicit;
create cast (json as api.color) with function private.color_from(json) as implicit;
create cast (text as api.color) with function private.color_text(text) as implicit;
create table api.paints (id int primary key, name text, tint api.color);
insert into api.paints values (1, 'blue', 255), (2, 'green', 65280);

-- Parameters of functions.
create domain api.positive as int check (value > 0);
create function api.sayhello(name text) returns text immutable language sql as $$ select 'Hello, ' || name $$;
create function api.add_them(a int, b int) returns int immutable language sql as 'select a + b';
create function api.three(a int, b int default 20, c int default 300) returns int immutable language sql
  as 'select a + b + c';
create function api.optional(a int default 1, b int default 2) returns int immutable language sql
  as 'select a * 10 + b';
create function api.plus(variadic v int[] default '{}') returns int immutable language sql
  as 'select coalesce(sum(x), 0)::int from unnest(v) x';
create function api.joined(sep text, variadic v text[]) returns text immutable language sql
  as 'select array_to_string(v, sep, ''NULL'')';
create function api.arr(v text[]) returns text[] immutable language sql as 'select v';
create function api.ch(c char) returns text immutable language sql as 'select c::text';
create function api.later(d interval) returns interval immutable language sql as 'select d * 2';
create function api.feel(m api.mood) returns api.mood immutable language sql as 'select m';
create function api.place_text(p api.spot) returns text immutable language sql
  as $$ select p.lat || '/' || p.lon $$;
create function api.named_json(data json) returns text immutable language sql as 'select data::text';
create function api.positive_only(n api.positive) returns int immutable language sql as 'select n::int';
create function api."Odd.name é"("A b" text) returns text immutable language sql as 'select "A b"';
create function api.echo(json) returns json immutable language sql as 'select $1';
create function api.echo_text(text) returns text immutable language sql as 'select $1';
create function api.echo_xml(xml) returns text immutable language sql as 'select $1::text';
create function api.echo_bytes(bytea) returns text immutable language sql as $$ select encode($1, 'hex') $$;
create function api.reserved("select" int, "order" int) returns int immutable language sql
  as 'select "select" + "order"';
create function api.unnamed_int(int) returns int immutable language sql as 'select $1';
create function api.f() returns text immutable language sql as $$ select 'f()' $$;
create function api.f(x int, y int) returns text immutable language sql as $$ select 'f(x,y)' $$;
create function api.f(json) returns text immutable language sql as $$ select 'f(json)' $$;
create function api.f(text) returns text immutable language sql as $$ select 'f(text)' $$;
create function api.f(bytea) returns text immutable language sql as $$ select 'f(bytea)' $$;
create function api.g(json) returns text immutable language sql as $$ select 'g(json)' $$;
create function api.g(jsonb) returns text immutable language sql as $$ select 'g(jsonb)' $$;
create function api.conv(arg int) returns text immutable language sql as $$ select 'int' $$;
create function api.conv(arg xml) returns text immutable language sql as $$ select 'xml' $$;
create function api.conv(arg text, num int default 0) returns text immutable language sql as $$ select 'text' $$;

-- Results of functions.
create function api.r_null() returns int immutable language sql as 'select null::int';
create function api.r_text() returns text immutable language sql as $$ select 'a "quote" é' $$;
create function api.r_array() returns int[] immutable language sql as $$ select '{1,2}'::int[] $$;
create function api.r_range() returns int4range immutable language sql as $$ select int4range(10, 20) $$;
create function api.r_jsonb() returns jsonb immutable language sql as $$ select '{"k": 1}'::jsonb $$;
create function api.r_domain() returns api.positive immutable language sql as 'select 5::api.positive';
create function api.r_void() returns void language sql as $$ insert into api.notes values ('void', null) $$;
create function api.r_record() returns record immutable language sql as $$ select 1 as a, 'x'::text as b $$;
create function api.r_records() returns setof record immutable language sql
  as $$ select * from (values (1, 'x'::text), (2, 'y')) as t (a, b) $$;
create function api.r_ints() returns setof int immutable language sql as 'values (1), (null), (3)';
create function api.r_no_ints() returns setof int immutable language sql as 'select 1 where false';
create function api.r_spot() returns api.spot immutable language sql as 'select 1, 2';
create function api.r_null_spot() returns api.spot immutable language sql as 'select null::api.spot';
create function api.r_spots() returns setof api.spot immutable language sql as 'values (1, 2), (3, null)';
create function api.r_out(n int, out num_plus_one int) immutable language sql as 'select n + 1';
create function api.r_outs(out a int, out b text) immutable language sql as $$ select 1, 'x'::text $$;
create function api.r_table() returns table (x int) immutable language sql as 'values (1), (2)';
create function api.cheap_tools(below int) returns setof api.tools stable language sql
  as $$ select * from api.tools where price < below $$;
create function api.one_tool(tool int) returns api.tools stable language sql
  as $$ select * from api.tools where id = tool $$;
create function api.range_of(min int, max int) returns table (id int) immutable language sql
  as 'select generate_series(min, max)';
create function api.add_maker(id int, name text) returns api.makers language sql
  as 'insert into api.makers values (id, name) returning *';
create sequence api.counter;
create function api.stable_writer() returns bigint stable language sql as $$ select nextval('api.counter') $$;
create function api.purge() returns void language sql as 'delete from api.notes';
create function api.purge_set() returns setof api.numbers language sql
  as 'delete from api.numbers returning *';
create function api.secret_one() returns int language sql as 'select 1';
revoke execute on function api.secret_one() from public;
create procedure api.procedure_one() language sql as 'select 1';

-- Settings of the transaction, and errors.
create function api.setting(name text) returns text stable language sql
  as $$ select nullif(current_setting(name, true), '') $$;
create function api.request_json(name text) returns json stable language sql
  as $$ select nullif(current_setting('request.' || name, true), '')::json $$;
create function api.who() returns text stable language sql as 'select current_user::text';
create function api.transaction_facts() returns json language sql as $$
  select json_build_object('isolation', current_setting('transaction_isolation'),
    'readonly', current_setting('transaction_read_only'),
    'timeout', current_setting('statement_timeout')) $$;
create function api.serializable() returns json stable language sql
  set default_transaction_isolation = 'serializable' as 'select api.transaction_facts()';
create function api.with_timeout() returns json stable language sql
  set statement_timeout = '4s' as 'select api.transaction_facts()';
create function api.slow() returns void language sql
  set statement_timeout = '50ms' as 'select pg_sleep(3)';
create function api.fail(state text, message text, detail text default null, hint text default null)
  returns void stable language plpgsql as $$
begin
  if detail is null then raise exception using errcode = state, message = message; end if;
  raise exception using errcode = state, message = message, detail = detail, hint = coalesce(hint, '');
end $$;
create function api.respond(status text, headers text) returns json stable language plpgsql as $$
begin
  perform set_config('response.status', status, true), set_config('response.headers', headers, true);
  return '{"said": true}';
end $$;

-- Media types that the database makes.
create domain "text/tab-separated-values" as text;
create domain "text/html" as text;
create domain "text/plain" as text;
create domain "text/xml" as xml;
create domain "image/png" as bytea;
create domain "application/octet-stream" as bytea;
create domain "*/*" as bytea;
create function private.tsv_step(s text, r api.makers) returns "text/tab-separated-values" immutable language sql
  as $$ select (s || r.id || E'\t' || r.name || E'\n')::"text/tab-separated-values" $$;
create aggregate api.tsv(api.makers) (initcond = '', stype = "text/tab-separated-values", sfunc = private.tsv_step);
create table api.anything (id int);
insert into api.anything values (1), (2);
create function private.any_step(s int, r api.anything) returns int immutable language sql as 'select s + r.id';
create function private.any_final(s int) returns "*/*" immutable language sql
  as $$ select convert_to('sum ' || s, 'utf8')::"*/*" $$;
create aggregate api.anything_all(api.anything)
  (initcond = '0', stype = int, sfunc = private.any_step, finalfunc = private.any_final);
create function api.page() returns "text/html" immutable language sql as $$ select '<p>é</p>'::"text/html" $$;
create function api.words() returns "text/plain" immutable language sql as $$ select 'words'::"text/plain" $$;
create function api.markup() returns "text/xml" immutable language sql as $$ select '<a>é</a>'::xml::"text/xml" $$;
create function api.png() returns "image/png" immutable language sql as $$ select '\x706e67'::bytea::"image/png" $$;
create function api.octets() returns "application/octet-stream" immutable language sql
  as $$ select '\x6f6374'::bytea::"application/octet-stream" $$;

-- Another schema.
create table other.parts (id int primary key, name text);
insert into other.parts values (1, 'bolt');
create function other.part_count() returns int stable language sql as 'select count(*)::int from other.parts';

grant usage on schema api, other, private to conf_anon, conf_user;
grant all on all tables in schema api to conf_anon, conf_user;
grant select on all tables in schema other to conf_anon;
grant usage on all sequences in schema api to conf_anon, conf_user;
revoke all on api.secrets from conf_anon;
revoke select on api.letters from conf_anon;
revoke insert on api.secrets from conf_user;
revoke select on api.cities from conf_user;
grant execute on function api.secret_one() to conf_user;
analyze api.numbers;
