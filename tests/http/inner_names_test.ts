/** Relations, columns and functions that are called like what statements have inside. */
import { deepStrictEqual } from "node:assert/strict";
import { withAdministeredHandler } from "../support/handler/administered_handler.ts";
import { buildRequest, type RequestParts } from "../support/handler/request.ts";

const folder = new URL("../../src/api/query/", import.meta.url);

/** Names in statements, as their sources have them: what `ownName()` gets, and other aliases. */
async function innerNames(): Promise<readonly string[]> {
  const names = new Set(["c1", "k1", "s1", "v1", "n", "p", "e", "x", "f", "svc_level_0"]);
  for await (const { name } of Deno.readDir(folder)) {
    const text = await Deno.readTextFile(new URL(name, folder));
    for (const [, own] of text.matchAll(/ownName\("(\w+)"\)/g)) names.add(`svc_${own}`);
    const code = text.replaceAll(/^(?: *\/?\*| *\/\/|import|export \{).*/gm, "");
    for (const [, alias] of code.matchAll(/ as "?([a-z][a-z_]*)\b(?=[ ,("'`})])/g)) {
      names.add(alias!);
    }
  }
  // `count` and `merge_action` have a meaning in `select`; others are types and words of SQL.
  const left =
    /^(?:array|const|count|doc|integer|json|jsonb|materialized|merge_action|pg_catalog)$/;
  return [...names].filter((name) => !left.test(name)).toSorted();
}

const names = await innerNames();

/** Every table has all names as columns, and refers to itself. */
function tableSql(name: string): string {
  const list = names.map((column) => `"${column}" text`).join(", ");
  const some = names.map((column) => `'${column}!'`).join(", ");
  return `create table public."${name}" (id int primary key, up int references public."${name}", doc jsonb, ${list});
  insert into public."${name}" values (1, null, '{"a":1}', ${some}), (2, 1, '{"a":2}', ${some});
  create function public."${name}"(up int) returns setof public."${name}" stable language sql
    as 'select * from public."${name}" t where t.up = $1';`;
}

const prefer = (text: string, more = {}) => ({ Prefer: text, ...more });
const shown = "return=representation";
const merge = { "Content-Type": "application/merge-patch+json" };
const patch = { "Content-Type": "application/json-patch+json" };

/** Requests to a table `T`. All transactions roll back. */
const requests: readonly (readonly [line: string, parts?: RequestParts])[] = [
  ["GET /T?order=id"],
  ["GET /T?order=id", { headers: { Accept: "text/csv", Prefer: "count=exact" } }],
  ["GET /T?order=id", { headers: { Accept: "application/x-ndjson" } }],
  ["GET /T?select=N,a:n,n:id,below:T!up(id,c1)&order=c1.desc,id&limit=2"],
  ["GET /T?select=id,...up(n,present,c1,svc_t)&order=id&limit=5"],
  ["GET /T?select=n,count(),id.max()&order=n&having=(id.max().gt.1)"],
  ["GET /T?select=id,b:T!up!inner(id,value)&b.value=eq.value!&order=value,id"],
  ["GET /T?select=*&order=value,id&limit=1&after="],
  ["GET /T?distinct=value,n&select=value,n,N"],
  ["POST /rpc/T", { body: { up: 1 } }],
  ["POST /T", { body: { id: 7, N: "a", value: "b" }, headers: prefer(shown) }],
  ["POST /T?columns=id,n", { body: [{ id: 7 }], headers: prefer(`${shown}, missing=default`) }],
  ["POST /T?select=m:merge_action(),*", {
    body: [{ id: 1, N: "a" }, { id: 7, N: "b" }],
    headers: prefer(`${shown}, resolution=merge-duplicates`),
  }],
  ["POST /T?columns=id,n,below:T(id,value)&select=id,n,below:T!up(id,value)", {
    body: { id: 7, n: "a", below: [{ id: 8, value: "b" }] },
    headers: prefer(shown),
  }],
  ["PATCH /T?id=eq.1", { body: { N: "a", n: "b" }, headers: prefer(shown) }],
  ["PATCH /T?on=id&select=id,N,n", {
    body: [{ id: 1, N: "a", n: "b" }, { id: 2, N: "c" }],
    headers: prefer(shown),
  }],
  ["PATCH /T?id=eq.1", { body: { N: "a", doc: { b: 2 } }, headers: prefer(shown, merge) }],
  ["PATCH /T?id=eq.1", {
    body: [{ op: "test", path: "/N", value: "N!" }, { op: "add", path: "/doc/s", value: 1 }],
    headers: prefer(shown, patch),
  }],
  ["DELETE /T?order=id.desc&limit=1", { headers: prefer(shown) }],
  ["PUT /T?id=eq.1&select=id,up", {
    body: Object.fromEntries([
      ["id", 1],
      ["up", null],
      ["doc", {}],
      ...names.map((c) => [c, "p"]),
    ]),
    headers: prefer(shown),
  }],
];

Deno.test("no name inside of a statement meets one of the database", async () => {
  const sql = `${["plain", ...names].map(tableSql).join("\n")}
  grant all on all tables in schema public to anon`;
  const config = { dbSchemas: ["public"], dbAggregatesEnabled: true, dbTxEnd: "rollback" } as const;
  await withAdministeredHandler(sql, config, async ({ handler }) => {
    const send = async (
      table: string,
      column: string,
      [line, parts = {}]: typeof requests[number],
    ) => {
      const named = (text: string) => text.replace(/\bT\b/g, table).replace(/\bN\b/g, column);
      const body = parts.body === undefined ? {} : { body: named(JSON.stringify(parts.body)) };
      const headers = parts.headers ?? {};
      const request = await buildRequest({ line: named(line), origin: "http://x" }, {
        headers,
        ...body,
      });
      const response = await handler(request);
      const text = await response.text();
      return [response.status, text] as const;
    };
    for (const request of requests) {
      const differing: unknown[] = [];
      const namesColumn = /\bN\b/.test(JSON.stringify(request));
      let expected: readonly [status: number, text: string] = [0, ""];
      for (const name of names) {
        if (namesColumn || name === names[0]) expected = await send("plain", name, request);
        const actual = await send(name, name, request);
        if (expected[0] > 299 || `${expected}` !== `${actual}`) {
          differing.push({ name, expected, actual });
        }
      }
      deepStrictEqual(differing, [], request[0]);
    }
  });
});
