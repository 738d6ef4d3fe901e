/** Which requests are quiet: carried out without any code of the database's own. */
import { strictEqual } from "node:assert/strict";
import { configSource, noValues } from "../../src/config/source.ts";
import { plan } from "../../src/plan/plan.ts";
import { parseRequest } from "../../src/request/parse_request.ts";
import { buildRequest, type RequestParts } from "../support/request.ts";
import { schemaCacheLoader } from "../support/schema_cache.ts";

const loaded = schemaCacheLoader();

const sql = `
  create schema api;
  create table api.parents (id int primary key, name text, doc json, tags text[]);
  create table api.kids (id int primary key, name text, parent int references api.parents);
  create table api.left_ones (id int primary key);
  create table api.right_ones (id int primary key);
  create table api.pairs (
    l int references api.left_ones, r int references api.right_ones, primary key (l, r)
  );
  create table api.secrets (id int primary key, parent int references api.parents);
  alter table api.secrets enable row level security;
  create table api.loose (id int primary key, name text);
  create table api.logged (id int primary key, name text);
  create function api.log() returns trigger language plpgsql as 'begin return new; end';
  create trigger log after insert on api.logged for each row execute function api.log();
  create view api.shown as select id, name from api.parents;
  create function api.full_name(api.parents) returns text stable language sql as 'select $1.name';
  create function api.oldest(api.parents) returns setof api.kids rows 1 stable language sql
    as 'select * from api.kids limit 1';
  create function api.add(a int, b int) returns int immutable language sql as 'select a + b';
`;

const csv = { headers: { Accept: "text/csv" } };
const explained = { headers: { Accept: "application/vnd.svc.plan" } };
const shown = { headers: { Prefer: "return=representation" } };
const one = { id: 1, name: "x" };

const rows: readonly (readonly [line: string, parts: RequestParts, quiet: boolean])[] = [
  ["GET /parents", {}, true],
  ["HEAD /parents?id=eq.1", {}, true],
  ["GET /parents?select=id,n:name&name=like.a*&order=id.desc&limit=3&offset=2", {}, true],
  ["GET /parents?or=(id.in.(1,2),not.and(name.is.null,id.gt.3))", {}, true],
  ["GET /parents?select=doc->a->>b&doc->>a=eq.1&order=doc->>a&tags=cs.{a}", {}, true],
  ["GET /parents?select=id,kids(name)&kids.id=gt.1&kids.order=name&kids.limit=2", {}, true],
  ["GET /kids?select=*,...parents(parent_name:name)&order=parents(name)", {}, true],
  ["GET /left_ones?select=id,right_ones(id,pairs(l))", {}, true],
  ["GET /parents?select=*,kids!inner(*)&kids=not.is.null", {}, true],
  ["GET /parents?id=eq.1", csv, true],
  ["GET /parents", { headers: { Prefer: "count=exact" } }, true],
  ["GET /parents", { headers: { Prefer: "count=planned" } }, true],
  ["GET /logged", {}, true],
  ["GET /secrets", {}, false],
  ["GET /parents?select=id,secrets(id)", {}, false],
  ["GET /parents?select=id,secrets()&secrets=is.null", {}, false],
  ["GET /parents?select=id,kids(id,nothing)", {}, false],
  ["GET /kids?select=id,shown(id)&order=shown(full_name)", {}, false],
  ["PATCH /loose?full_name=eq.1", { body: { name: "y" } }, false],
  ["GET /shown", {}, false],
  ["GET /kids?select=id,shown!parent(id)", {}, false],
  ["GET /parents?select=id,full_name", {}, false],
  ["GET /parents?full_name=eq.x", {}, false],
  ["GET /parents?order=full_name", {}, false],
  ["GET /parents?or=(id.eq.1,full_name.eq.x)", {}, false],
  ["GET /parents?select=id,oldest(id)", {}, false],
  ["GET /parents?select=id::text", {}, false],
  ["GET /parents?name=fts.x", {}, false],
  ["GET /parents", explained, false],
  ["GET /rpc/add?a=1&b=2", {}, false],
  ["POST /loose", { body: one }, true],
  ["POST /loose", { body: [one, { ...one, id: 2 }] }, true],
  ["POST /loose", { body: one, ...shown }, true],
  [
    "POST /loose?on_conflict=id",
    { body: one, headers: { Prefer: "resolution=merge-duplicates" } },
    true,
  ],
  ["PATCH /loose?id=eq.1", { body: { name: "y" } }, true],
  ["DELETE /loose?id=eq.1", {}, true],
  ["POST /parents", { body: one }, true],
  ["POST /kids?select=id,parents(name)", { body: one, ...shown }, true],
  ["POST /kids?select=id,shown(name)", { body: one, ...shown }, false],
  ["POST /loose?select=id::text", { body: one, ...shown }, false],
  // What others refer to is perhaps changed there as well.
  ["POST /parents?on_conflict=id", {
    body: one,
    headers: { Prefer: "resolution=merge-duplicates" },
  }, false],
  ["POST /parents?on_conflict=id", {
    body: one,
    headers: { Prefer: "resolution=ignore-duplicates" },
  }, true],
  ["PATCH /parents?id=eq.1", { body: { name: "y" } }, false],
  ["DELETE /parents?id=eq.1", {}, false],
  ["POST /logged", { body: one }, false],
  ["PATCH /logged?id=eq.1", { body: { name: "y" } }, false],
  ["POST /secrets", { body: { id: 1 } }, false],
  ["POST /shown", { body: one }, false],
];

const text = `
db-uri = "postgres://"
db-schemas = "api"
db-plan-enabled = true
`;
const source = configSource({
  file: { path: "test.conf", text },
  environment: {},
  readFile: () => new Uint8Array(),
});

for (const [line, parts, quiet] of rows) {
  const prefer = Object.values(parts.headers ?? {}).join();
  Deno.test(`${line} ${prefer} is ${quiet ? "" : "not "}quiet`, async () => {
    const cache = await loaded(sql);
    const config = source.configure(noValues);
    const request = await buildRequest({ line, origin: "http://localhost" }, parts);
    const planned = plan(await parseRequest(request, config), cache, config);
    const isQuiet = planned.kind === "read"
      ? planned.quiet !== null
      : planned.kind === "mutate" && planned.quiet;
    strictEqual(isQuiet, quiet);
  });
}
