/** Errors stay short, whatever a request holds. */
import { ok, strictEqual } from "node:assert/strict";
import { serviceSuite } from "../support/handler/api.ts";
import type { RequestParts } from "../support/handler/request.ts";

const long = "x".repeat(300_000);
const listed = (count: number, name: (at: number) => string) =>
  Array.from({ length: count }, (_, at) => name(at));
const names = listed(100_000, (at) => `n${at}`);
const form = { "Content-Type": "application/x-www-form-urlencoded" };
const csv = { "Content-Type": "text/csv" };

const fields = (count: number) => names.slice(0, count).map((name) => `${name}=1`).join("&");
const formOf = (count: number) => ({ body: fields(count), headers: form });
const keys = Object.fromEntries(names.map((name) => [name, 1]));

/** A label, the request, and the status and code of its error. */
const rows: readonly (readonly [string, string, RequestParts, string])[] = [
  ["relation", `GET /${long}`, {}, "404 SVC205"],
  ["function", `GET /rpc/${long}`, {}, "404 SVC202"],
  ["function of a long body", `POST /rpc/${long}`, { body: `"${long}"` }, "404 SVC202"],
  ["method", `${long.toUpperCase()} /single`, {}, "405 SVC117"],
  ["schema", "GET /single", { headers: { "Accept-Profile": long } }, "406 SVC106"],
  ["media type", "GET /single", { headers: { Accept: `a/${long}` } }, "406 SVC107"],
  ["media types", "GET /single", { headers: { Accept: names.join(",") } }, "406 SVC107"],
  ["content type", "POST /single", { headers: { "Content-Type": `a/${long}` } }, "415 SVC107"],
  [
    "preferences",
    "GET /single",
    { headers: { Prefer: `handling=strict,${names.join(",")}` } },
    "400 SVC122",
  ],
  ["preference", "GET /single", { headers: { Prefer: `handling=strict,${long}` } }, "400 SVC122"],
  ["select", `GET /single?select=${long}(`, {}, "400 SVC100"],
  ["order", `GET /single?order=${long}.up`, {}, "400 SVC100"],
  ["filter", `GET /single?id=${long}`, {}, "400 SVC100"],
  ["filter's name", `GET /single?(${long}=eq.1`, {}, "400 SVC100"],
  ["logic", `GET /single?or=(${long})`, {}, "400 SVC100"],
  ["NUL", `GET /single?id=eq.${long}%00`, {}, "400 SVC100"],
  [
    "on_conflict",
    `POST /single?on_conflict=${names.slice(0, 1000).join(",")}`,
    { body: {}, headers: { Prefer: "resolution=merge-duplicates" } },
    "400 42703",
  ],
  ["on_conflict, malformed", `POST /single?on_conflict=(${long}`, { body: {} }, "400 SVC100"],
  [
    "columns",
    `POST /single?columns=${names.slice(0, 9000).join(",")}`,
    { body: {} },
    "400 SVC204",
  ],
  ["column", `POST /single?columns=${long}`, { body: {} }, "400 SVC204"],
  ["embed", `GET /single?select=${long}(id)`, {}, "400 SVC200"],
  ["hint", `GET /single?select=single!${long}(id)`, {}, "400 SVC200"],
  ["level", `GET /single?${long}.order=id`, {}, "400 SVC108"],
  ["unknown column", `GET /single?${long}=eq.1`, {}, "400 SVC100"],
  ["unknown type", `GET /single?select=id::${long}`, {}, "400 42704"],
  ["value of a filter", `GET /single?id=eq.${long}`, {}, "400 22P02"],
  ["value", "POST /single", { body: { id: long } }, "400 22P02"],
  ["key", "POST /single", { body: { [long]: 1 } }, "400 SVC204"],
  ["keys", "POST /single", { body: keys }, "400 SVC204"],
  ["form of many names", "POST /single", formOf(10_000), "400 SVC204"],
  ["form of a long name", "POST /single", { body: `${long}=1`, headers: form }, "400 SVC204"],
  ["CSV of a long name", "POST /single", { body: `${long}\n1\n`, headers: csv }, "400 SVC204"],
  ["arguments", `GET /rpc/f?${fields(names.length)}`, {}, "404 SVC202"],
  ["argument", `GET /rpc/f?${long}=1`, {}, "404 SVC202"],
  ["argument's value", `GET /rpc/overloaded?a=${long}`, {}, "400 22P02"],
  ["keys for a function", "POST /rpc/f", { body: keys }, "404 SVC202"],
  ["form for a function", "POST /rpc/f", formOf(10_000), "404 SVC202"],
  ["form of too many fields", "POST /rpc/f", formOf(names.length), "400 SVC102"],
  ["message of a function", `GET /rpc/fails?why=${long}`, {}, "400 P0001"],
];

/** Of a database's error come its message, details and hint, each cut off at 10,000 characters. */
const allowed = 30_100;

const suite = serviceSuite("long_bodies", { dbSchemas: ["api"], dbAnonRole: "anon" }, {
  title: "long_bodies, errors",
});

for (const [name, line, parts, error] of rows) {
  suite.test(name, async (api) => {
    const response = await api(line, parts);
    const text = await response.text();
    const { code } = JSON.parse(text);
    strictEqual(`${response.status} ${code}`, error, text.slice(0, 1000));
    const own = code.startsWith("SVC");
    ok(text.length < (own ? 5000 : allowed), `${text.length} characters`);
    for (const [header, value] of response.headers) ok(value.length < 5000, header);
  });
}
