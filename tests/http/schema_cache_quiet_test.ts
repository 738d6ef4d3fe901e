/** Which relations the schema cache takes for quiet: nothing of the database's own code runs there. */
import { deepStrictEqual, strictEqual } from "node:assert/strict";
import type { Relation } from "../../src/schema_cache/schema_cache.ts";
import { relation, schemaCacheLoader } from "../support/schema_cache.ts";

const loaded = schemaCacheLoader();

/** What beside `create table api.t (id int primary key, v text)` is there, and what is quiet then. */
type Row = readonly [name: string, sql: string, quiet: string];

const all = "reads inserts changes";

const rows: readonly Row[] = [
  ["a plain table", "", all],
  [
    "a table that refers to another one",
    "create table api.p (id int primary key); alter table api.t add p int references api.p",
    all,
  ],
  [
    "a table that another one refers to",
    "create table api.c (t int references api.t)",
    "reads inserts",
  ],
  [
    "a table that refers to itself",
    "alter table api.t add parent int references api.t",
    "reads inserts",
  ],
  [
    "columns of enums, arrays, ranges and json",
    `
    create type api.mood as enum ('good');
    alter table api.t add a api.mood, add b api.mood[], add c int[], add d int4range, add e jsonb,
      add f uuid default gen_random_uuid(), add g timestamptz default now(), add h numeric(5, 2)`,
    all,
  ],
  [
    "identity, sequence and generated columns",
    `
    alter table api.t add a int generated always as identity, add b serial,
      add c int generated always as (id * 2) stored`,
    all,
  ],
  ["a check with built-in functions", "alter table api.t add check (length(v) < 10)", all],
  [
    "a default that reads what the request said",
    "alter table api.t alter v set default current_setting('request.jwt.claims', true)",
    all,
  ],
  ["an index on a built-in expression", "create index on api.t (lower(v))", all],
  [
    "a trigger",
    `create function api.f() returns trigger language plpgsql as 'begin return new; end';
    create trigger f before insert on api.t for each row execute function api.f()`,
    "reads",
  ],
  [
    "a trigger that is disabled",
    `create function api.f() returns trigger language plpgsql as 'begin return new; end';
    create trigger f before insert on api.t for each row execute function api.f();
    alter table api.t disable trigger f`,
    "reads",
  ],
  [
    "a constraint trigger",
    `create function api.f() returns trigger language plpgsql as 'begin return new; end';
    create constraint trigger f after insert on api.t deferrable initially deferred
      for each row execute function api.f()`,
    "reads",
  ],
  ["a rule", "create rule r as on insert to api.t do also notify x", "reads"],
  ["row level security", "alter table api.t enable row level security", ""],
  ["a policy without row level security", "create policy p on api.t", all],
  ["a domain", "create domain api.d as text; alter table api.t add d api.d", ""],
  ["an array of a domain", "create domain api.d as text; alter table api.t add d api.d[]", ""],
  [
    "a composite type",
    "create type api.pair as (a int, b int); alter table api.t add p api.pair",
    "",
  ],
  [
    "an own range type",
    "create type api.r as range (subtype = float8); alter table api.t add r api.r",
    "",
  ],
  [
    "a column that is gone",
    "create domain api.d as text; alter table api.t add d api.d; alter table api.t drop d",
    all,
  ],
  [
    "a default of an own function",
    `create function api.f() returns text language sql as 'select ''x''';
    alter table api.t alter v set default api.f()`,
    "reads",
  ],
  [
    "a default that sets something",
    "alter table api.t alter v set default set_config('response.status', '201', true)",
    "reads",
  ],
  [
    "a default that runs SQL",
    "alter table api.t alter v set default query_to_xml('select 1', true, true, '')::text",
    "reads",
  ],
  [
    "a default through a domain",
    "create domain public.d as text; alter table api.t alter v set default ('x'::public.d)",
    "reads",
  ],
  [
    "a check with an own function",
    `create function api.f(text) returns bool immutable language sql as 'select true';
    alter table api.t add check (api.f(v))`,
    "reads",
  ],
  [
    "an index on an own function",
    `create function api.f(text) returns text immutable language sql as 'select $1';
    create index on api.t (api.f(v))`,
    "reads",
  ],
  [
    "an index on some rows by an own function",
    `create function api.f(text) returns bool immutable language sql as 'select true';
    create index on api.t (id) where api.f(v)`,
    "reads",
  ],
  [
    "a generated column of an own function",
    `create function api.f(text) returns text immutable language sql as 'select $1';
    alter table api.t add g text generated always as (api.f(v)) stored`,
    "reads",
  ],
  [
    "a default of an extension's function in C",
    'create extension "uuid-ossp" schema public; alter table api.t add u uuid default public.uuid_generate_v4()',
    all,
  ],
  ["a table that others inherit from", "create table api.c () inherits (api.t)", ""],
  [
    "an own operator in the search path",
    `create function api.eq(varchar, varchar) returns bool language sql as 'select true';
    create operator api.= (function = api.eq, leftarg = varchar, rightarg = varchar)`,
    "",
  ],
  [
    "an own operator anywhere",
    `create schema other; create function other.eq(varchar, varchar) returns bool language sql as 'select true';
    create operator other.= (function = other.eq, leftarg = varchar, rightarg = varchar)`,
    "",
  ],
  [
    "an own operator class that calls built-in functions",
    `create operator class api.c for type int4 using btree as
      operator 1 <, operator 3 =, operator 5 >, function 1 btint4cmp(int, int)`,
    all,
  ],
  [
    "an own operator class that calls its own function",
    `create function api.cmp(json, json) returns int immutable language sql as 'select 0';
    create function api.lt(json, json) returns bool language internal as 'jsonb_lt';
    create operator api.< (function = api.lt, leftarg = json, rightarg = json);
    create operator class api.c default for type json using btree as
      operator 1 api.<, function 1 api.cmp(json, json)`,
    "",
  ],
  [
    "an own cast of an enum",
    `create type api.mood as enum ('good');
    create function api.shown(api.mood) returns json language sql as 'select 1::text::json';
    create cast (api.mood as json) with function api.shown(api.mood)`,
    "",
  ],
  [
    "an own cast of a built-in type",
    `create function api.text_of(int) returns text language sql as 'select null::text';
    create cast (int as text) with function api.text_of(int) as implicit`,
    "",
  ],
  [
    "casts of a domain",
    `create domain public.color as int;
    create function public.color(text) returns public.color language sql as 'select 1::public.color';
    create function public.json(public.color) returns json language sql as 'select 1::text::json';
    create cast (text as public.color) with function public.color(text) as implicit;
    create cast (public.color as json) with function public.json(public.color) as implicit`,
    all,
  ],
  [
    "settings that not everybody may make",
    "revoke execute on function set_config(text, text, boolean) from public",
    "",
  ],
  ["operators of an extension", "create extension citext schema public", all],
];

function quietOf({ quiet }: Relation): string {
  return Object.entries(quiet).filter(([, is]) => is).map(([name]) => name).join(" ");
}

for (const [name, sql, quiet] of rows) {
  Deno.test(`${name}: ${quiet || "nothing"} is quiet`, async () => {
    const table = "create schema api; create table api.t (id int primary key, v text);";
    const cache = await loaded(`${table} ${sql}`, { extra: ["public"] });
    strictEqual(quietOf(relation(cache, "t")), quiet);
  });
}

Deno.test("views and partitioned tables are not quiet, materialized views are when they are read", async () => {
  const cache = await loaded(`
    create schema api; create table api.t (id int);
    create view api.v as select * from api.t;
    create materialized view api.m as select * from api.t;
    create table api.p (id int) partition by range (id);
    create table api.p1 partition of api.p for values from (1) to (2);
  `);
  const quiet = cache.data.relations.map((relation) => [relation.name, quietOf(relation)]);
  deepStrictEqual(quiet, [["m", "reads"], ["p", ""], ["t", all], ["v", ""]]);
});
