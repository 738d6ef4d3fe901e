/** Which relations and functions the schema cache takes for volatile. */
import { deepStrictEqual, strictEqual } from "node:assert/strict";
import type { SchemaCache } from "../../src/state/schema_cache/schema_cache.ts";
import { relation, schemaCacheLoader } from "../support/database/schema_cache.ts";

/** `f` is volatile because it does not say otherwise; `g` is stable, whatever its body does. */
const base = `
  create schema api; create schema other;
  create table api.t (id int primary key, v text);
  create sequence other.s;
  create function other.f(int) returns int language sql as 'select $1';
  create function other.g(int) returns int stable language plpgsql
    as 'begin return nextval(''other.s''); end';
`;

/** What some relations need. */
const parts = `
  create view other.v as select random() as r;
  create table other.p (id int); alter table other.p enable row level security;
  create policy p on other.p using (random() < 1);
  create function other.step(int, int) returns int stable language sql as 'select $1';
  create aggregate other.stable_sum(int) (sfunc = other.step, stype = int);
  create aggregate other.final(int) (sfunc = other.step, stype = int, finalfunc = other.f);
  create function other.loud_step(int, int) returns int language sql as 'select $1';
  create aggregate other.loud_sum(int) (sfunc = other.loud_step, stype = int);
  create function other.d(int default other.f(1)) returns int stable language sql as 'select 1';
  create function other.e(int default other.d()) returns int stable language sql as 'select 1';
  create function other.upper(text) returns text immutable language sql as 'select $1';
  create function other.trigger() returns trigger language plpgsql as 'begin return new; end';
  create foreign data wrapper w; create server s foreign data wrapper w;
  create table api.plain (id int, v text);
`;

/** A relation's name, what makes it, and whether it is volatile. */
type Row = readonly [name: string, sql: string, volatile: boolean];

function view(name: string, query: string, volatile: boolean): Row {
  return [name, `create view api.${name} as ${query}`, volatile];
}

function builtIn(name: string, call: string, volatile: boolean): Row {
  return view(name, `select ${call} as c`, volatile);
}

/** A table with a policy, which is named like its table. */
function policy(name: string, options: string, volatile: boolean): Row {
  return [name, policySql(name, options), volatile];
}

function policySql(name: string, options: string): string {
  return `create table api.${name} (id int, v text);
    alter table api.${name} enable row level security; create policy p on api.${name} ${options}`;
}

const rows: readonly Row[] = [
  ["plain", "", false],
  view("of_table", "select * from api.t", false),
  view("function", "select other.f(id) from api.t", true),
  view("stable_function", "select other.g(id) from api.t", false),
  builtIn("random", "random()", true),
  builtIn("clock_timestamp", "clock_timestamp()", true),
  builtIn("gen_random_uuid", "gen_random_uuid()", true),
  builtIn("nextval", "nextval('other.s')", true),
  builtIn("set_config", "set_config('a.b', 'c', true)", true),
  builtIn("pg_notify", "pg_notify('a', 'b')::text", true),
  builtIn("pg_advisory_lock", "pg_advisory_lock(1)::text", true),
  builtIn("lo_creat", "lo_creat(-1)", true),
  builtIn("now", "now()", false),
  builtIn("who", "current_user", false),
  builtIn("current_setting", "current_setting('a.b', true)", false),
  view("in_where", "select 1 from api.t where random() < 0.5", true),
  view("in_order", "select 1 from api.t order by random()", true),
  view("in_limit", "select 1 from api.t limit other.f(1)", true),
  view("in_from", "select * from other.f(1)", true),
  view("in_join", "select 1 from api.t join api.plain p on other.f(t.id) = p.id", true),
  view("in_subselect", "select (select max(other.f(id)) from api.t)", true),
  view("in_cte", "with c as (select other.f(1)) select * from c", true),
  view("in_union", "select 1 union select other.f(1)", true),
  view("in_case", "select case when id > 1 then other.f(id) end from api.t", true),
  view("in_filter", "select count(*) filter (where random() < 1) from api.t", true),
  view("in_window", "select count(*) over (order by other.f(id)) from api.t", true),
  view("in_sample", "select * from api.t tablesample system (10)", true),
  view("aggregates", "select max(id), rank() over () from api.t group by v", false),
  view("of_view", "select * from other.v", true),
  view("of_view_of_view", "select * from api.of_view", true),
  view("of_catalogue", "select count(*) from pg_locks", true),
  view("of_view_of_catalogue", "select count(*) from pg_stat_xact_user_tables", true),
  view("odd_name", `select 1 as ":funcid 1598 "`, false),
  view("odd_constant", "select ':funcid 1598 '::text as c", false),
  ["materialized", "create materialized view api.materialized as select random() as r", false],
  view("of_materialized", "select * from api.materialized", false),
  view("loud_aggregate", "select other.loud_sum(id) from api.t", true),
  view("final_function", "select other.final(id) from api.t", true),
  view("aggregate_as_window", "select other.loud_sum(id) over () from api.t", true),
  view("stable_aggregate", "select other.stable_sum(id) from api.t", false),
  view("default_argument", "select other.d()", true),
  view("default_of_default", "select other.e()", true),
  policy("for_all", "using (other.f(id) > 0)", true),
  policy("for_select", "for select using (random() < 1)", true),
  policy("restrictive", "as restrictive for select using (random() < 1)", true),
  policy("for_a_role", "for select to pg_monitor using (random() < 1)", true),
  policy("for_update", "for update using (random() < 1)", false),
  policy("for_insert", "for insert with check (random() < 1)", false),
  policy("for_writes", "using (true) with check (random() < 1)", false),
  policy("stable_policy", "using (v = current_setting('a.b', true) and other.g(id) > 0)", false),
  policy("empty_policy", "", false),
  [
    "disabled_policy",
    `create table api.disabled_policy (id int);
    create policy p on api.disabled_policy using (random() < 1)`,
    false,
  ],
  view("of_policy", "select * from api.for_select", true),
  policy("membership", "using (id in (select id from api.t))", false),
  policy("through_policy", "using (id in (select id from other.p))", true),
  policy("through_view", "using (exists (select from other.v))", true),
  [
    "mutual",
    `create table api.mutual (id int); create table other.mutual (id int);
    alter table api.mutual enable row level security;
    alter table other.mutual enable row level security;
    create policy p on api.mutual using (exists (select from other.mutual));
    create policy p on other.mutual using (exists (select from api.mutual));
    create policy q on other.mutual using (random() < 1)`,
    true,
  ],
  [
    "written",
    `create table api.written (
      id int check (other.f(id) > 0), v text, a int default random(), b uuid default gen_random_uuid()
    );
    create trigger x before insert on api.written for each row execute function other.trigger();
    create rule r as on insert to api.written do also select other.f(1)`,
    false,
  ],
  [
    "generated",
    `create table api.generated (v text, a text generated always as (other.upper(v)) stored);
    create index on api.generated (other.upper(v))`,
    false,
  ],
  ["foreign_table", "create foreign table api.foreign_table (id int) server s", true],
  view("of_foreign_table", "select distinct * from api.foreign_table", true),
  [
    "foreign_partition",
    `create table api.foreign_partition (id int) partition by list (id);
    create foreign table api.p1 partition of api.foreign_partition for values in (1) server s`,
    true,
  ],
  [
    "partitioned",
    `create table api.partitioned (id int) partition by list (id);
    create table api.p2 partition of api.partitioned for values in (1)`,
    false,
  ],
  [
    "foreign_child",
    `create table api.foreign_child (id int);
    create foreign table other.c () inherits (api.foreign_child) server s`,
    true,
  ],
];

/** What statements reach without naming a function: then all relations are volatile. */
const surroundings: Readonly<Record<string, readonly [sql: string, volatile: boolean]>> = {
  "an operator": [
    `create function other.eq(varchar, varchar) returns bool language sql as 'select true';
    create operator other.= (function = other.eq, leftarg = varchar, rightarg = varchar)`,
    true,
  ],
  "a stable operator": [
    `create function other.eq(varchar, varchar) returns bool stable language sql as 'select true';
    create operator other.= (function = other.eq, leftarg = varchar, rightarg = varchar)`,
    false,
  ],
  "a comparison for sorting": [
    `create function other.cmp(json, json) returns int language sql as 'select 0';
    create function other.lt(json, json) returns bool immutable language sql as 'select true';
    create operator other.< (function = other.lt, leftarg = json, rightarg = json);
    create operator class other.c default for type json using btree as
      operator 1 other.<, function 1 other.cmp(json, json)`,
    true,
  ],
  "a cast of an enum": [
    `create type other.mood as enum ('good');
    create function other.shown(other.mood) returns json language sql as 'select null::json';
    create cast (other.mood as json) with function other.shown(other.mood)`,
    true,
  ],
  "a stable cast": [
    `create type other.mood as enum ('good');
    create function other.shown(other.mood) returns json stable language sql as 'select null::json';
    create cast (other.mood as json) with function other.shown(other.mood)`,
    false,
  ],
  "a cast between built-in types": [
    `create function other.shown(json) returns int language sql as 'select 1';
    create cast (json as int) with function other.shown(json)`,
    true,
  ],
  "a cast of a domain, which PostgreSQL ignores": [
    `create domain other.color as int;
    create function other.shown(other.color) returns json language sql as 'select null::json';
    create cast (other.color as json) with function other.shown(other.color) as implicit`,
    false,
  ],
  "an extension's cast of a type without users": [extensionCast(""), false],
  "an extension's cast of a column": [extensionCast("create table other.u (m other.mood)"), true],
  "an extension's cast of the elements of a column": [
    extensionCast("create table other.u (m other.mood[])"),
    true,
  ],
  "an extension's cast of a function's result": [
    extensionCast(
      "create function api.m() returns other.mood language sql as 'select null::other.mood'",
    ),
    true,
  ],
  "the output of a type": [baseType("immutable", "volatile"), true],
  "the input of a type": [baseType("volatile", "immutable"), true],
  "a stable type": [baseType("immutable", "stable"), false],
  "a check of a domain": ["create domain other.d as int check (other.f(value) > 0)", true],
  "a check of a domain by a built-in function": [
    "create domain other.d as int check (value > random())",
    true,
  ],
  "a stable check of a domain": ["create domain other.d as int check (other.g(value) > 0)", false],
};

function extensionCast(user: string): string {
  return `create type other.mood as enum ('good');
    create function other.shown(other.mood) returns json language sql as 'select null::json';
    create cast (other.mood as json) with function other.shown(other.mood);
    alter extension plpgsql add type other.mood;
    alter extension plpgsql add function other.shown(other.mood);
    alter extension plpgsql add cast (other.mood as json);
    ${user}`;
}

function baseType(input: string, output: string): string {
  return `create type other.b;
    create function other.b_in(cstring) returns other.b ${input} language internal as 'textin';
    create function other.b_out(other.b) returns cstring ${output} language internal as 'textout';
    create type other.b (input = other.b_in, output = other.b_out, like = text)`;
}

/** A relation's name, what makes it, and which use of it may change the session. */
type SessionRow = readonly [name: string, sql: string, use: "read" | "write" | undefined];

/** What belongs to a table, and what that reads or writes in turn. */
const sessionRows: readonly SessionRow[] = [
  ["plain", "", undefined],
  [
    "default_of_column",
    "create table api.default_of_column (v text default other.say('d'))",
    "write",
  ],
  [
    "default_of_domain",
    `create domain other.said as text default other.say('d');
    create table api.default_of_domain (v other.said)`,
    "write",
  ],
  [
    "built_in_default_of_domain",
    `create domain other.kept as text default set_config('a.b', 'c', false);
    create domain other.kept_too as other.kept; create table api.built_in_default_of_domain (v other.kept_too)`,
    "write",
  ],
  [
    "constant_of_domain",
    `create domain other.word as text default 'w'; create table api.constant_of_domain (v other.word)`,
    undefined,
  ],
  [
    "keyed",
    `create table api.keyed (v text) partition by list (other.upper(v));
    create table api.key_part partition of api.keyed default partition by list (v);
    create table api.key_leaf partition of api.key_part default`,
    "write",
  ],
  ["of_part", "create view api.of_part as select v from api.key_part", "write"],
  ["of_leaf", "create view api.of_leaf as select v from api.key_leaf", "write"],
  [
    "keyed_by_built_in",
    `create table api.keyed_by_built_in (v text) partition by list (lower(v));
    create table api.plain_part partition of api.keyed_by_built_in default`,
    undefined,
  ],
  ["of_plain_part", "create view api.of_plain_part as select v from api.plain_part", undefined],
  [
    "ruled",
    `create view api.ruled as select 1 as id;
    create rule r as on insert to api.ruled do instead insert into other.triggered values (new.id)`,
    "write",
  ],
  [
    "ruled_twice",
    `create view api.ruled_twice as select 1 as id;
    create rule r as on delete to api.ruled_twice do instead delete from api.ruled`,
    "write",
  ],
  [
    "plainly_ruled",
    `create view api.plainly_ruled as select 1 as id;
    create rule r as on insert to api.plainly_ruled do instead insert into api.plain values (new.id)`,
    undefined,
  ],
  [
    "checked_by_view",
    policySql("checked_by_view", "for insert with check (exists (select from other.saying))"),
    "write",
  ],
  [
    "updated_by_view",
    policySql("updated_by_view", "for update using (exists (select from other.saying))"),
    "write",
  ],
  [
    "deleted_by_view",
    policySql("deleted_by_view", "for delete using (exists (select from other.saying))"),
    "write",
  ],
  [
    "read_by_view",
    policySql("read_by_view", "for select using (exists (select from other.saying))"),
    "read",
  ],
  [
    "checked_by_table",
    policySql("checked_by_table", "for insert with check (exists (select from other.triggered))"),
    undefined,
  ],
];

/** Functions that a read can call, those that are volatile first. */
const functions = `
  create function api.of_row(api.t) returns int language sql as 'select 1';
  create function api.with_default(api.t, int default 1) returns int language sql as 'select 1';
  create function api.volatile_default(int, int, int default random()) returns int stable
    language sql as 'select 1';
  create function api.step(int, api.t) returns int language sql as 'select $1';
  create aggregate api.aggregate(api.t) (sfunc = api.step, stype = int);
  create function api.to_tsvector(regconfig, api.t) returns tsvector language sql
    as 'select null::tsvector';
  create function api.without_arguments() returns int language sql as 'select 1';
  create function api.two_arguments(int, int) returns int language sql as 'select 1';
  create function api.stable_of_row(api.t) returns int stable language sql as 'select 1';
  create function api.stable_default(int, int, int default 1) returns int stable
    language sql as 'select 1';
`;

const loaded = schemaCacheLoader();
let cache: SchemaCache;

Deno.test.beforeAll(async () => {
  cache = await loaded(`${base} ${parts} ${rows.map(([, sql]) => sql).join(";\n")}`);
});

for (const [name, , volatile] of rows) {
  Deno.test(`${name} is ${volatile ? "" : "not "}volatile`, () => {
    strictEqual(relation(cache, name).volatile, volatile);
  });
}

for (const [name, [sql, volatile]] of Object.entries(surroundings)) {
  Deno.test(`${name} makes ${volatile ? "everything" : "nothing"} volatile`, async () => {
    const { data } = await loaded(`${base} ${sql}`);
    strictEqual(data.volatileFunctions === null, volatile);
    strictEqual(data.relations.every((relation) => relation.volatile === volatile), true);
  });
}

Deno.test("changesSession is the use that may change the session", async () => {
  const sql = sessionRows.map(([, sql]) => sql).join(";\n");
  const cache = await loaded(`${base}
    create function other.say(text) returns text immutable language sql as 'select $1';
    create function other.upper(text) returns text immutable language sql as 'select $1';
    create function other.trigger() returns trigger language plpgsql as 'begin return new; end';
    create view other.saying as select other.say('s');
    create table api.plain (id int, v text); create table other.triggered (id int);
    create trigger t before insert on other.triggered for each row execute function other.trigger();
    ${sql}`);
  deepStrictEqual(
    sessionRows.map(([name]) => [name, relation(cache, name).changesSession]),
    sessionRows.map(([name, , use]) => [name, use]),
  );
});

Deno.test("volatileFunctions are those that a read can call", async () => {
  const { data } = await loaded(`${base} ${functions}`);
  deepStrictEqual(data.volatileFunctions, [
    ...["aggregate", "f", "of_row", "to_tsvector", "volatile_default", "with_default"],
  ]);
});

Deno.test("stableWithoutArguments are those that db-pre-request can run anywhere", async () => {
  const { data } = await loaded(`${base}
    create function other.loud() returns void language sql as 'select';
    create function other.loud_default(a int default other.f(1)) returns void stable
      language sql as 'select';
    create function other.with_argument(a int) returns void stable language sql as 'select';
    create function other.quiet() returns void stable language sql as 'select';
    create function api.quiet(a int default 1) returns void immutable language sql as 'select';
  `);
  const names = data.stableWithoutArguments!.map(({ schema, name }) => `${schema}.${name}`);
  deepStrictEqual(names.sort(), ["api.quiet", "other.quiet"]);
});
