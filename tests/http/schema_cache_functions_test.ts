/** Functions in the schema cache. */
import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { routine, schemaCacheLoader } from "../support/database/schema_cache.ts";

const loaded = schemaCacheLoader();

Deno.test("schema cache keeps callable functions only", async () => {
  const cache = await loaded(`
    create schema api; create schema hidden;
    create table api.t (id int);
    create function api.none() returns int language sql as 'select 1';
    create function api.named(a int, b text) returns int language sql as 'select 1';
    create function api.raw_json(json) returns int language sql as 'select 1';
    create function api.raw_jsonb(jsonb) returns int language sql as 'select 1';
    create function api.raw_text(text) returns int language sql as 'select 1';
    create function api.raw_bytea(bytea) returns int language sql as 'select 1';
    create function api.raw_xml(xml) returns int language sql as 'select 1';
    create function api.raw_int(int) returns int language sql as 'select 1';
    create function api.raw_two(json, text) returns int language sql as 'select 1';
    create function api.of_row(api.t) returns int language sql as 'select 1';
    create function api.trigger() returns trigger language plpgsql as 'begin return new; end';
    create procedure api.proc(a int) language sql as 'select 1';
    create aggregate api.agg(int) (sfunc = int4pl, stype = int);
    create function hidden.f() returns int language sql as 'select 1';
  `);
  deepStrictEqual(cache.routineNames("api"), [
    "named",
    "none",
    "raw_bytea",
    "raw_json",
    "raw_jsonb",
    "raw_text",
    "raw_xml",
  ]);
  deepStrictEqual(cache.routineNames("hidden"), []);
});

/** [signature after the name, input parameters]. */
const signatures: readonly (readonly [signature: string, parameters: readonly unknown[]])[] = [
  ["()", []],
  ["(json)", [["", "json", "json", true, false]]],
  ["(a int, b text default 'x', c text default null)", [
    ["a", "integer", "integer", true, false],
    ["b", "text", "text", false, false],
    ["c", "text", "text", false, false],
  ]],
  ["(out x int, a int, inout b text, out y int)", [
    ["a", "integer", "integer", true, false],
    ["b", "text", "text", true, false],
  ]],
  ["(out x int, a int, b text default 'x')", [
    ["a", "integer", "integer", true, false],
    ["b", "text", "text", false, false],
  ]],
  ["(a int, variadic b int[] default '{}')", [
    ["a", "integer", "integer", true, false],
    ["b", "integer[]", "integer[]", false, true],
  ]],
  ['(a char, b char(4), c bit, d character[], e bit[], f "char", g varchar(3))', [
    ["a", "character", "character varying", true, false],
    ["b", "character", "character varying", true, false],
    ["c", "bit", "bit varying", true, false],
    ["d", "character[]", "character varying[]", true, false],
    ["e", "bit[]", "bit varying[]", true, false],
    ["f", '"char"', '"char"', true, false],
    ["g", "character varying", "character varying", true, false],
  ]],
  [`("A b" api."Mood!", "c.d" api.t[])`, [
    ["A b", 'api."Mood!"', 'api."Mood!"', true, false],
    ["c.d", "api.t[]", "api.t[]", true, false],
  ]],
];

Deno.test("schema cache reads parameters of functions", async (context) => {
  const functions = signatures.map(([signature], index) => {
    const returns = signature.includes("out ") ? "" : "returns int";
    return `create function api.f${index}${signature} ${returns} language plpgsql as 'begin end';`;
  });
  const cache = await loaded(`
    create schema api; create table api.t (id int); create type api."Mood!" as enum ('a');
    ${functions.join("\n")}
  `);
  for (const [index, [signature, parameters]] of signatures.entries()) {
    await context.step(signature, () => {
      const { parameters: found } = routine(cache, `f${index}`);
      deepStrictEqual(
        found.map((p) => [p.name, p.type, p.callType, p.required, p.variadic]),
        parameters,
      );
      strictEqual(found.some((each) => each.variadic), signature.includes("variadic"));
    });
  }
});

/** [parameters and result, set, composite, type, relation, void]. */
const results: readonly (readonly unknown[])[] = [
  ["() returns int", false, false, "pg_catalog.int4", null, false],
  ["() returns setof text", true, false, "pg_catalog.text", null, false],
  ["() returns void", false, false, "pg_catalog.void", null, true],
  ["() returns json", false, false, "pg_catalog.json", null, false],
  ["() returns record", false, false, "pg_catalog.record", null, false],
  ["() returns setof record", true, false, "pg_catalog.record", null, false],
  ["() returns api.mood", false, false, "api.mood", null, false],
  ["() returns int[]", false, false, "pg_catalog._int4", null, false],
  ["() returns api.pair", false, true, "api.pair", null, false],
  ["() returns api.t", false, true, "api.t", "api.t", false],
  ["() returns setof api.t", true, true, "api.t", "api.t", false],
  ["() returns setof api.v", true, true, "api.v", "api.v", false],
  ["() returns setof hidden.t", true, true, "hidden.t", "hidden.t", false],
  ["() returns api.row_domain", false, true, "api.t", "api.t", false],
  ["() returns setof api.row_domain2", true, true, "api.t", "api.t", false],
  ["() returns api.scalar_domain", false, false, "pg_catalog.int4", null, false],
  ["() returns table (a int)", true, true, "pg_catalog.int4", null, false],
  ["() returns table (a int, b text)", true, true, "pg_catalog.record", null, false],
  ["(out a int)", false, true, "pg_catalog.int4", null, false],
  ["(inout a int)", false, true, "pg_catalog.int4", null, false],
  ["(out a int, out b int)", false, true, "pg_catalog.record", null, false],
];

Deno.test("schema cache classifies results of functions", async (context) => {
  const functions = results.map(([signature], index) =>
    `create function api.f${index}${signature} language plpgsql as 'begin end';`
  );
  const cache = await loaded(`
    create schema api; create schema hidden;
    create table api.t (id int); create table hidden.t (id int); create view api.v as select * from api.t;
    create type api.mood as enum ('a'); create type api.pair as (a int, b int);
    create domain api.row_domain as api.t; create domain api.row_domain2 as api.row_domain;
    create domain api.scalar_domain as int;
    ${functions.join("\n")}
  `);
  for (const [index, [signature, ...expected]] of results.entries()) {
    await context.step(String(signature), () => {
      const { set, composite, typeSchema, typeName, relation, void: isVoid } =
        routine(cache, `f${index}`).returns;
      const relationName = relation === null ? null : `${relation.schema}.${relation.name}`;
      deepStrictEqual(
        [set, composite, `${typeSchema}.${typeName}`, relationName, isVoid],
        expected,
      );
    });
  }
});

Deno.test("schema cache reads volatility, settings and comments of functions", async () => {
  const cache = await loaded(
    `
      create schema api;
      create function api.i() returns int immutable language sql as 'select 1';
      create function api.s() returns int stable language sql as 'select 1';
      create function api.v() returns int language sql
        set statement_timeout = '4s' set work_mem = '5000' set "api.setting" = 'a=b'
        set default_transaction_isolation = 'Repeatable Read' as 'select 1';
      comment on function api.v() is 'Slow';
    `,
    { settings: ["Statement_Timeout", " api.setting"] },
  );
  const facts = (name: string) => {
    const { volatility, isolation, settings, comment } = routine(cache, name);
    return { volatility, isolation, settings, comment };
  };
  const plain = { isolation: null, settings: [], comment: null };
  deepStrictEqual(facts("i"), { volatility: "immutable", ...plain });
  deepStrictEqual(facts("s"), { volatility: "stable", ...plain });
  deepStrictEqual(facts("v"), {
    volatility: "volatile",
    isolation: "repeatable read",
    settings: [["statement_timeout", "4s"], ["api.setting", "a=b"]],
    comment: "Slow",
  });
});

Deno.test("schema cache sorts overloads", async () => {
  const cache = await loaded(`
    create schema api;
    create function api.conv(arg text, num int default 0) returns int language sql as 'select 1';
    create function api.conv(arg xml) returns int language sql as 'select 1';
    create function api.conv(arg int) returns int language sql as 'select 1';
    create function api.conv(aaa text) returns int language sql as 'select 1';
    create function api.conv(abc date) returns int language sql as 'select 1';
    comment on function api.conv(text) is 'commented';
  `);
  deepStrictEqual(
    cache.routines({ schema: "api", name: "conv" }).map((r) =>
      r.parameters.map((p) => `${p.name} => ${p.type}`).join(", ")
    ),
    ["abc => date", "arg => integer", "arg => xml", "aaa => text", "arg => text, num => integer"],
  );
});

Deno.test("schema cache lists the functions that PostgreSQL finds for a name of a row", async () => {
  const cache = await loaded(
    `
    create schema api;
    create schema extra;
    create schema other;
    create table api.t (a int);
    create table api.parent (a int);
    create table api.child () inherits (api.parent);
    create function api.one(api.t) returns int language sql as 'select 1';
    create function extra.two(api.t, b int default 1) returns int language sql as 'select 2';
    create function api.three(api.parent) returns int language sql as 'select 3';
    create function other.four(api.t) returns int language sql as 'select 4';
    create function api.five(api.t, b int) returns int language sql as 'select 5';
  `,
    { extra: ["extra"] },
  );
  const own = cache.data.rowFunctions!.filter(({ name, relation }) =>
    relation !== null || name === "three"
  );
  const t = { schema: "api", name: "t" };
  deepStrictEqual(own, [
    { name: "one", relation: t },
    { name: "three", relation: null },
    { name: "two", relation: t },
  ]);
  const names = cache.data.rowFunctions!.map(({ name }) => name);
  deepStrictEqual(["row_to_json", "count"].map((name) => names.includes(name)), [true, false]);
});

Deno.test("schema cache lists the columns of results that have no relation", async () => {
  const cache = await loaded(`
    create schema api;
    create type api.pair as (x int, y int);
    create table api.t (a int);
    create function api.f1() returns table (a int, b text) language sql as 'select 1, null::text';
    create function api.f2(out a int, inout b int) language sql as 'select 1, 2';
    create function api.f3() returns setof api.pair language sql as 'select 1, 2';
    create function api.f4() returns setof api.t language sql as 'select 1';
    create function api.f5() returns int language sql as 'select 1';
  `);
  const columns = cache.data.routines.map(({ returns }) => returns.columns);
  deepStrictEqual(columns, [["a", "b"], ["a", "b"], ["x", "y"], undefined, undefined]);
});
