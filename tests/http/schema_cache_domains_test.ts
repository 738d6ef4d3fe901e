/** Casts and media types of domains in the schema cache. */
import { deepStrictEqual, strictEqual } from "node:assert/strict";
import type { QualifiedName } from "../../src/state/schema_cache/schema_cache.ts";
import { schemaCacheLoader } from "../support/database/schema_cache.ts";

const loaded = schemaCacheLoader();

const casts = `
  create schema api;
  create domain api.color as int;
  create domain public.other as text;
  create function api.json(api.color) returns json immutable language sql as 'select ''1''::json';
  create function api.color(text) returns api.color immutable language sql as 'select 1::api.color';
  create function api.color(json) returns api.color immutable language sql as 'select 1::api.color';
  create function api.other(json) returns public.other immutable language sql
    as 'select ''''::public.other';
  create function api.number(api.color) returns bigint immutable language sql as 'select 1::bigint';
  create cast (api.color as json) with function api.json(api.color) as implicit;
  create cast (json as api.color) with function api.color(json) as implicit;
  create cast (text as api.color) with function api.color(text) as implicit;
  create cast (json as public.other) with function api.other(json) as assignment;
  create cast (api.color as bigint) with function api.number(api.color) as implicit;
`;

Deno.test("schema cache holds implicit casts between domains and json or text", async () => {
  const cache = await loaded(casts);
  deepStrictEqual(cache.representation("api.color", "json"), { schema: "api", name: "json" });
  deepStrictEqual(cache.representation("json", "api.color"), { schema: "api", name: "color" });
  deepStrictEqual(cache.representation("text", "api.color"), { schema: "api", name: "color" });
  strictEqual(cache.data.representations.length, 3);
});

Deno.test("schema cache leaves out casts that the login role may not execute", async () => {
  const role = `svc_role_${crypto.randomUUID().replaceAll("-", "")}`;
  const cache = await loaded(`
    ${casts}
    create role ${role};
    revoke execute on function api.json(api.color) from public;
    set local role ${role};
  `);
  deepStrictEqual(
    cache.data.representations.map(({ source, target }) => [source, target]),
    [["json", "api.color"], ["text", "api.color"]],
  );
});

Deno.test("schema cache finds media type handlers", async () => {
  const cache = await loaded(`
    create schema api; create schema hidden;
    create table api.item (id int); create table hidden.item (id int);
    create domain "text/tab-separated-values" as text;
    create domain "Image/PNG" as bytea;
    create domain "application/vnd.x+json" as json;
    create domain "*/*" as bytea;
    create domain "not a type" as text; create domain "a/b/c" as text; create domain "a+b/c" as text;
    create function api.step(s text, r api.item) returns "text/tab-separated-values" language sql
      as $$ select ''::"text/tab-separated-values" $$;
    create aggregate api.tabs(api.item) (initcond = '', stype = "text/tab-separated-values", sfunc = api.step);
    create aggregate hidden.tabs(api.item) (initcond = '', stype = "text/tab-separated-values", sfunc = api.step);
    create function api.any_step(s "application/vnd.x+json", r anyelement)
      returns "application/vnd.x+json" language sql as $$ select '1'::"application/vnd.x+json" $$;
    create aggregate api.all_rows(anyelement) (stype = "application/vnd.x+json", sfunc = api.any_step);
    create function api.any_final(s int) returns "*/*" language sql as $$ select ''::"*/*" $$;
    create function api.count_step(s int, r hidden.item) returns int language sql as 'select 1';
    create aggregate api.raw(hidden.item) (stype = int, sfunc = api.count_step, finalfunc = api.any_final);
    create function api.logo() returns "Image/PNG" language sql as $$ select ''::"Image/PNG" $$;
    create function api.logos() returns setof "Image/PNG" language sql as $$ select ''::"Image/PNG" $$;
    create function api.plain() returns "not a type" language sql as $$ select ''::"not a type" $$;
    create function api.deep() returns "a/b/c" language sql as $$ select ''::"a/b/c" $$;
    create function api.plus() returns "a+b/c" language sql as $$ select ''::"a+b/c" $$;
  `);
  const names = ({ schema, name }: QualifiedName) => `${schema}.${name}`;
  deepStrictEqual(
    cache.data.mediaHandlers.map(({ kind, target, handler, mediaType, binary }) =>
      `${kind} of ${target && names(target)} by ${names(handler)}: ${mediaType}, binary ${binary}`
    ),
    [
      "aggregate of api.item by api.tabs: text/tab-separated-values, binary false",
      "aggregate of hidden.item by api.raw: */*, binary true",
      "any of null by api.all_rows: application/vnd.x+json, binary false",
      "function of api.any_final by api.any_final: */*, binary true",
      "function of api.any_step by api.any_step: application/vnd.x+json, binary false",
      "function of api.logo by api.logo: Image/PNG, binary true",
      "function of api.step by api.step: text/tab-separated-values, binary false",
    ],
  );
  const logo = { schema: "api", name: "logo" };
  strictEqual(cache.mediaHandler(logo, "image/png")?.mediaType, "Image/PNG");
});
