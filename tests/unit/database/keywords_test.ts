import { deepStrictEqual, throws } from "node:assert/strict";
import { parseKeywords } from "../../../src/database/keywords.ts";

const accepted: readonly [string, Readonly<Record<string, unknown>>][] = [
  ["", {}],
  ["host=h port=5433 user=u password=p dbname=d", {
    host: "h",
    port: "5433",
    user: "u",
    password: "p",
    database: "d",
  }],
  ["host = h  user = 'a b'", { host: "h", user: "a b" }],
  [String.raw`password='it\'s \\ here'`, { password: String.raw`it's \ here` }],
  [String.raw`password=a\ b`, { password: "a b" }],
  ["user=u password=''", { user: "u", password: "" }],
  ["host=h connect_timeout=3", { host: "h" }],
  ["host=h sslmode=require", { host: "h", ssl: { rejectUnauthorized: false } }],
  ["host=h sslmode=disable", { host: "h", ssl: false }],
];

Deno.test("parseKeywords reads keyword/value connection strings", async (t) => {
  for (const [text, expected] of accepted) {
    await t.step(text, () => deepStrictEqual(parseKeywords(text), expected));
  }
});

for (const text of ["tmp_db", "host", "host=h nonsense", "=h", "host='h"]) {
  Deno.test(`parseKeywords refuses ${text}`, () => {
    throws(() => parseKeywords(text), /neither a URI nor a list of keyword=value pairs/);
  });
}
