/** Which requests can run twice without a second effect on the database. */
import { strictEqual } from "node:assert/strict";
import { noValues } from "../../src/state/config/load.ts";
import { configSource } from "../../src/state/config/source.ts";
import { plan } from "../../src/api/plan/plan.ts";
import { isRetrySafeRead } from "../../src/api/plan/retry_safe.ts";
import { receiveBody } from "../../src/api/request/body/body.ts";
import { parseHead } from "../../src/api/request/parse_request.ts";
import { readRawRequest } from "../../src/api/request/raw_request.ts";
import type { SchemaCache } from "../../src/state/schema_cache/schema_cache.ts";
import { buildRequest, type RequestParts } from "../support/handler/request.ts";
import { schemaCacheLoader } from "../support/database/schema_cache.ts";
import { wingOptions } from "../../src/process/wings.ts";

/** What is volatile has a name that begins with `loud`. */
const sql = `
  create schema api;
  create domain api.color as int;
  create domain api.loud_color as int;
  create domain api."text/tabs" as text;
  create domain api."text/loud" as text;
  create function api.json(api.color) returns json stable language sql as 'select null::json';
  create function api.loud_json(api.loud_color) returns json language sql as 'select null::json';
  create function api.color(text) returns api.color stable language sql as 'select 1::api.color';
  create function api.loud_color(text) returns api.loud_color language sql
    as 'select 1::api.loud_color';
  create cast (api.color as json) with function api.json(api.color) as implicit;
  create cast (api.loud_color as json) with function api.loud_json(api.loud_color) as implicit;
  create cast (text as api.color) with function api.color(text) as implicit;
  create cast (text as api.loud_color) with function api.loud_color(text) as implicit;

  create table api.parents (id int primary key, name text, doc json, shade api.color);
  create table api.kids (id int primary key, name text, parent int references api.parents);
  create table api.painted (id int primary key, shade api.loud_color);
  create table api.lefts (id int primary key);
  create table api.rights (id int primary key);
  create table api.pairs (
    l int references api.lefts, r int references api.rights, primary key (l, r)
  );
  create table api.loud_lefts (id int primary key);
  create table api.loud_pairs (
    l int references api.loud_lefts, r int references api.rights, primary key (l, r)
  );
  alter table api.loud_pairs enable row level security;
  create policy p on api.loud_pairs using (random() < 1);
  create view api.shown as select id, name from api.parents;
  create view api.loud_parents as select id, name, random() as loud_column from api.parents;
  create table api.logged (id int primary key, loud_name text);

  create function api.full_name(api.parents) returns text stable language sql as 'select $1.name';
  create function api.loud_name(api.parents) returns text language sql as 'select $1.name';
  create function api.loud_generic(anyelement) returns text language sql as 'select ''x''';
  create function api.oldest(api.parents) returns setof api.kids rows 1 stable language sql
    as 'select * from api.kids limit 1';
  create function api.loud_oldest(api.parents) returns setof api.kids rows 1 language sql
    as 'select * from api.kids limit 1';

  create function api.tabs_step(api."text/tabs", api.kids) returns api."text/tabs" immutable language sql as 'select $1';
  create function api.loud_step(api."text/loud", api.kids) returns api."text/loud" language sql as 'select $1';
  create aggregate api.tabs(api.kids) (sfunc = api.tabs_step, stype = api."text/tabs");
  create aggregate api.loud_tabs(api.kids) (sfunc = api.loud_step, stype = api."text/loud");

  create function api.add(a int, b int) returns int immutable language sql as 'select a + b';
  create function api.loud_add(a int, b int) returns int language sql as 'select a + b';
  create function api.loud_default(a int, b int, c int default random()) returns int
    stable language sql as 'select a';
  create function api.find() returns setof api.parents stable language sql
    as 'select * from api.parents';
  create function api.listed() returns table (id int, title text) stable language sql
    as 'select 1, ''x''';
`;

const accept = (type: string): RequestParts => ({ headers: { Accept: type } });
const counted: RequestParts = { headers: { Prefer: "count=exact" } };

const rows: readonly (readonly [line: string, retrySafe: boolean, parts?: RequestParts])[] = [
  ["GET /parents", true],
  ["HEAD /parents?id=eq.1", true],
  ["GET /parents", true, counted],
  ["GET /parents", true, accept("text/csv")],
  ["GET /parents", true, accept("application/geo+json")],
  ["GET /parents?or=(id.in.(1,2),not.and(name.is.null,id.gt.3))&order=id&limit=2", true],
  ["GET /parents?select=doc->a->>b&doc->>a=eq.1&order=doc->>a", true],
  ["GET /parents?select=id::text", true],
  ["GET /parents?name=fts.x", true],
  ["GET /parents?select=id.sum(),name", true],
  ["GET /parents?select=count", true],
  ["GET /shown", true],
  ["GET /loud_parents", false],
  ["HEAD /loud_parents", false],
  ["GET /logged?select=loud_name&loud_name=eq.x&order=loud_name", true],
  ["GET /parents?select=id,kids(name)&kids.id=gt.1", true],
  ["GET /kids?select=*,...parents(parent_name:name)&order=parents(parent_name)", true],
  ["GET /kids?select=id,loud_parents(id)", false],
  ["GET /kids?select=id,parents(id,kids(loud_parents(id)))", false],
  ["GET /kids?select=id,loud_parents()&loud_parents=is.null", false],
  ["GET /kids?select=id,loud_parents!inner()", false],
  ["GET /kids?select=id,...loud_parents(title:name)", false],
  ["GET /lefts?select=id,rights(id)", true],
  ["GET /loud_lefts?select=id,rights(id)", false],
  ["GET /parents?select=full_name&full_name=eq.x&order=full_name", true],
  ["GET /parents?select=id,loud_name", false],
  ["GET /parents?loud_name=eq.x", false],
  ["GET /parents?loud_name=in.(x)", false],
  ["GET /parents?loud_name=is.null", false],
  ["GET /parents?loud_name=isdistinct.x", false],
  ["GET /parents?loud_name=fts.x", false],
  ["GET /parents?or=(id.eq.1,and(loud_name.eq.x,id.eq.2))", false],
  ["GET /parents?order=loud_name", false],
  ["GET /parents?select=loud_name.max()", false],
  ["GET /parents?select=id,loud_generic", false],
  ["GET /kids?select=id,parents(loud_name)", false],
  ["GET /kids?select=id,parents(id)&parents.loud_name=eq.x", false],
  ["GET /kids?select=id,parents(*)&order=parents(loud_generic)", false],
  ["GET /parents?select=id,oldest(id,name)", true],
  ["GET /parents?select=id,oldest(loud_generic)", false],
  ["GET /parents?select=id,oldest(id,loud_parents(id))", false],
  ["GET /parents?select=id,loud_oldest(id)", false],
  ["GET /parents?select=id,loud_oldest!inner()", false],
  ["GET /parents?select=shade&shade=eq.red", true],
  ["GET /painted", false],
  ["GET /painted?select=id", true],
  ["GET /painted?select=id&shade=eq.red", false],
  ["GET /painted?select=id&shade=in.(red)", false],
  ["GET /kids", true, accept("text/tabs")],
  ["GET /kids", false, accept("text/loud")],
  ["GET /rpc/add?a=1&b=2", true],
  ["POST /rpc/add", true, { body: { a: 1, b: 2 } }],
  ["GET /rpc/loud_add?a=1&b=2", false],
  ["POST /rpc/loud_add", false, { body: { a: 1, b: 2 } }],
  ["GET /rpc/loud_default?a=1&b=2", false],
  ["GET /rpc/find?select=id,full_name,kids(id)&id=eq.1", true],
  ["GET /rpc/find?select=id,loud_name", false],
  ["GET /rpc/find?loud_name=eq.x", false],
  ["GET /rpc/find?select=id,kids(loud_parents(id))", false],
  ["GET /rpc/find?select=id,loud_oldest(id)", false],
  ["GET /rpc/listed?select=title&id=eq.1&order=title", true],
  ["GET /rpc/listed?select=loud_generic", false],
  ["POST /logged", false, { body: { id: 1 } }],
  ["DELETE /logged?id=eq.1", false],
];

const source = configSource({
  wingOptions,
  file: {
    path: "test.conf",
    text: `
      db-uri = "postgres://"
      db-schemas = "api"
      db-aggregates-enabled = true
    `,
  },
  environment: {},
  readFile: () => new Uint8Array(),
});
const config = source.configure(noValues);

async function isRetrySafe(
  line: string,
  parts: RequestParts | undefined,
  cache: SchemaCache,
): Promise<boolean> {
  const request = await buildRequest({ line, origin: "http://localhost" }, parts);
  const { request: head, reader } = parseHead(readRawRequest(request), config);
  const payload = reader === null ? null : await receiveBody(request, reader.begin);
  const planned = plan({ ...head, payload }, cache, config);
  if (planned.kind === "root" || planned.kind === "options") throw new Error(planned.kind);
  return isRetrySafeRead(planned, cache);
}

const loaded = schemaCacheLoader();
let cache: SchemaCache;

Deno.test.beforeAll(async () => {
  cache = await loaded(sql);
});

for (const [line, retrySafe, parts] of rows) {
  const header = Object.values(parts?.headers ?? {}).join();
  Deno.test(`${line} ${header} is ${retrySafe ? "" : "not "}retry-safe`, async () => {
    strictEqual(await isRetrySafe(line, parts, cache), retrySafe);
  });
}
