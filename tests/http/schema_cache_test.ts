/** Relations and columns in the schema cache, and which schemas it is loaded from. */
import { deepStrictEqual, rejects, strictEqual } from "node:assert/strict";
import { relation, schemaCacheLoader } from "../support/database/schema_cache.ts";

const loaded = schemaCacheLoader();

Deno.test("schema cache holds exposed relations with their kinds, comments and writable flags", async () => {
  const cache = await loaded(`
    create schema api; create schema hidden;
    create table api.plain (id int primary key, v text);
    comment on table api.plain is 'A plain table';
    comment on column api.plain.v is 'A value';
    create table hidden.secret (id int);
    create table api.parted (id int, d date, primary key (id, d)) partition by range (d);
    create table api.part_one partition of api.parted for values from ('2020-01-01') to ('2021-01-01');
    create table api.child () inherits (api.plain);
    create table api.nothing ();
    create view api.simple as select * from api.plain;
    create view api.computed as select id + 1 as next from api.plain;
    create view api.joined as select a.id from api.plain a join api.plain b on a.id = b.id;
    create view api.triggered as select count(*) from api.plain;
    create function hidden.noop() returns trigger language plpgsql as 'begin return new; end';
    create trigger t instead of insert on api.triggered for each row execute function hidden.noop();
    create materialized view api.stored as select id from api.plain;
    comment on materialized view api.stored is 'Stored';
    create foreign data wrapper dead; create server dead foreign data wrapper dead;
    create foreign table api.far (id int not null) server dead;
    create sequence api.seq; create type api.pair as (a int, b int); create index on api.plain (v);
    create temporary table plain (id int);
  `);
  deepStrictEqual(
    cache.data.relations.map((r) => [
      r.name,
      r.comment,
      r.isView,
      [r.insertable && "insert", r.updatable && "update", r.deletable && "delete"]
        .filter(Boolean).join(),
    ]),
    [
      ["child", null, false, "insert,update,delete"],
      ["computed", null, true, "delete"],
      ["far", null, false, ""],
      ["joined", null, true, ""],
      ["nothing", null, false, "insert,update,delete"],
      ["parted", null, false, "insert,update,delete"],
      ["plain", "A plain table", false, "insert,update,delete"],
      ["simple", null, true, "insert,update,delete"],
      ["stored", "Stored", true, ""],
      ["triggered", null, true, "insert"],
    ],
  );
  deepStrictEqual(cache.column({ schema: "api", name: "plain" }, "v")!.comment, "A value");
  deepStrictEqual(relation(cache, "nothing").columns, []);
  deepStrictEqual(relation(cache, "parted").primaryKey, ["d", "id"]);
  deepStrictEqual(relation(cache, "simple").primaryKey, ["id"]);
  deepStrictEqual(relation(cache, "stored").primaryKey, ["id"]);
  deepStrictEqual(relation(cache, "far").primaryKey, []);
});

Deno.test("schema cache asks a foreign table's wrapper what it can write", async () => {
  const cache = await loaded(`
    create schema api; create schema ext; create extension postgres_fdw schema ext;
    create server near foreign data wrapper postgres_fdw;
    create server fixed foreign data wrapper postgres_fdw options (updatable 'false');
    create foreign table api.near (id int) server near;
    create foreign table api.fixed (id int) server fixed;
  `);
  deepStrictEqual(
    cache.data.relations.map((r) => [r.name, r.isView, r.insertable, r.updatable, r.deletable]),
    [["fixed", false, false, false, false], ["near", false, true, true, true]],
  );
});

Deno.test("schema cache describes columns by type, nullability and length", async () => {
  const cache = await loaded(`
    create schema api; create schema "Odd.Schema";
    create type api.mood as enum ('sad', 'ok');
    alter type api.mood add value 'neutral' before 'ok';
    create domain api.mood2 as api.mood;
    create domain api.short as varchar(10);
    create domain "Odd.Schema"."Shorter ""one" as api.short not null;
    create domain api.ints as int[];
    create type api.pair as (a int, b int);
    create domain api.pair2 as api.pair;
    create table api.t (
      id int not null, a varchar(5), b char(3), c char, d bit(4), e varbit(6), f numeric(8,2),
      g timestamptz(3), h int[], i text[], dropped int, j api.mood, k api.mood2, l api.short,
      m "Odd.Schema"."Shorter ""one", n api.ints, o api.pair, p api.pair2, q tsvector, r json,
      s api.mood[], t varchar, u name
    );
    alter table api.t drop column dropped;
  `);
  deepStrictEqual(
    relation(cache, "t").columns.map((c) => [
      c.name,
      c.nullable,
      c.declaredType,
      c.baseType,
      c.maxLength,
      c.enumLabels.join(),
    ]),
    [
      ["id", false, "integer", "integer", null, ""],
      ["a", true, "character varying(5)", "character varying", 5, ""],
      ["b", true, "character(3)", "character", 3, ""],
      ["c", true, "character(1)", "character", 1, ""],
      ["d", true, "bit(4)", "bit", 4, ""],
      ["e", true, "bit varying(6)", "bit varying", 6, ""],
      ["f", true, "numeric(8,2)", "numeric", null, ""],
      ["g", true, "timestamp(3) with time zone", "timestamp with time zone", null, ""],
      ["h", true, "integer[]", "integer[]", null, ""],
      ["i", true, "text[]", "text[]", null, ""],
      ["j", true, "api.mood", "api.mood", null, "sad,neutral,ok"],
      ["k", true, "api.mood2", "api.mood2", null, "sad,neutral,ok"],
      ["l", true, "api.short", "character varying", 10, ""],
      ["m", false, '"Odd.Schema"."Shorter ""one"', "character varying", 10, ""],
      ["n", true, "api.ints", "integer[]", null, ""],
      ["o", true, "api.pair", "api.pair", null, ""],
      ["p", true, "api.pair2", "api.pair2", null, ""],
      ["q", true, "tsvector", "tsvector", null, ""],
      ["r", true, "json", "json", null, ""],
      ["s", true, "api.mood[]", "api.mood[]", null, ""],
      ["t", true, "character varying", "character varying", null, ""],
      ["u", true, "name", "name", null, ""],
    ],
  );
});

Deno.test("schema cache gives defaults as SQL with qualified names", async () => {
  const cache = await loaded(`
    create schema api;
    create function api.make() returns text language sql as 'select ''x''::text';
    create domain api.seven as int default 7;
    create domain api.seven2 as api.seven;
    create domain api.bare as int;
    create table api."T t" (
      none int, plain text default 'a''b', now timestamptz default now(), called text default api.make(),
      serial serial, always int generated always as identity, taken int generated by default as identity,
      stored int generated always as (7 * 2) stored,
      seven api.seven, seven2 api.seven2, eight api.seven default 8, bare api.bare
    );
  `);
  deepStrictEqual(
    relation(cache, "T t").columns.map((c) => [c.name, c.default]),
    [
      ["none", null],
      ["plain", "'a''b'::text"],
      ["now", "now()"],
      ["called", "api.make()"],
      ["serial", `nextval('api."T t_serial_seq"'::regclass)`],
      ["always", null],
      ["taken", `nextval('api."T t_taken_seq"'::regclass)`],
      ["stored", null],
      ["seven", "7"],
      ["seven2", "7"],
      ["eight", "8"],
      ["bare", null],
    ],
  );
});

Deno.test("schema cache has no default for virtual generated columns", async () => {
  const cache = await loaded(`
    create schema api;
    do $$ begin
      if current_setting('server_version_num')::int >= 180000 then
        execute 'create table api.t (a int, b int generated always as (a + 1) virtual)';
      else
        create table api.t (a int, b int);
      end if;
    end $$;
  `);
  deepStrictEqual(relation(cache, "t").columns.map((c) => c.default), [null, null]);
});

Deno.test("schema cache loads schemas with odd names, and several of them", async () => {
  const odd = `We"ird \\ {a,b}.c '`;
  const cache = await loaded(
    `
      create schema "We""ird \\ {a,b}.c '"; create schema "Upper";
      create table "Upper".t (id int primary key);
      create table "We""ird \\ {a,b}.c '"."t ""x" (id int primary key references "Upper".t);
    `,
    { schemas: ["Upper", odd] },
  );
  deepStrictEqual(cache.relationNames("Upper"), ["t"]);
  deepStrictEqual(cache.relationNames(odd), ['t "x']);
  strictEqual(cache.relationships({ schema: "Upper", name: "t" }, odd).length, 1);
  strictEqual(cache.relationships({ schema: "Upper", name: "t" }, "Upper").length, 0);
});

Deno.test("schema cache of an empty schema is empty", async () => {
  const cache = await loaded("create schema api");
  const { rowFunctions = [], searchOperators, ...data } = cache.data;
  // Distances of pg_catalog have a point as their right operand.
  deepStrictEqual(searchOperators?.similarity, []);
  deepStrictEqual(searchOperators?.domains, []);
  for (const { schema, name, right } of searchOperators?.distances ?? []) {
    deepStrictEqual([schema, name, right], ["pg_catalog", "<->", "point"]);
  }
  // Functions of pg_catalog take rows of all relations.
  deepStrictEqual(rowFunctions.filter(({ relation }) => relation !== null), []);
  deepStrictEqual(data, {
    relations: [],
    relationships: [],
    routines: [],
    representations: [],
    mediaHandlers: [],
    volatileFunctions: [],
    sessionFunctions: [],
    stableWithoutArguments: [],
  });
});

for (const config of [{ schemas: ["api", "nope"] }, { extra: ["nope"] }] as const) {
  Deno.test(`schema cache cannot be loaded with ${JSON.stringify(config)}`, async () => {
    await rejects(
      () => loaded("create schema api", config),
      { code: "3F000", message: 'schema "nope" does not exist' },
    );
  });
}
