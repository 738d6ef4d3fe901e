import { deepStrictEqual, throws } from "node:assert/strict";
import { parseKeywords } from "../../../../src/database/connect/connection_string.ts";

const accepted: readonly [string, Readonly<Record<string, string>>][] = [
  ["", {}],
  ["host=h port=5433 user=u password=p dbname=d", {
    host: "h",
    port: "5433",
    user: "u",
    password: "p",
    dbname: "d",
  }],
  ["host = h  user = 'a b'", { host: "h", user: "a b" }],
  ["HOST=h host=i", { host: "i" }],
  [String.raw`password='it\'s \\ here'`, { password: String.raw`it's \ here` }],
  [String.raw`password=a\ b`, { password: "a b" }],
  ["user=u password=''", { user: "u", password: "" }],
  ["host=h connect_timeout=3", { host: "h", connect_timeout: "3" }],
];

Deno.test("parseKeywords reads keyword/value connection strings", async (t) => {
  for (const [text, expected] of accepted) {
    await t.step(text, () => deepStrictEqual(Object.fromEntries(parseKeywords(text)), expected));
  }
});

for (const text of ["tmp_db", "host", "host=h nonsense", "=h", "host='h"]) {
  Deno.test(`parseKeywords refuses ${text}`, () => {
    throws(() => parseKeywords(text), /neither a URI nor a list of keyword=value pairs/);
  });
}

Deno.test("parseKeywords names an unknown keyword without its value", () => {
  throws(() => parseKeywords("host=h schema=secret"), {
    message: 'invalid connection option "schema"',
  });
});
