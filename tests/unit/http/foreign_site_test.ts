import { strictEqual } from "node:assert/strict";
import { type ForeignHeader, foreignHeader } from "../../../src/http/foreign_site.ts";

const own = "http://127.0.0.1:3001";

/** Headers, what is foreign on a loopback address, and what is foreign on another one. */
const rows: readonly (readonly [
  headers: Readonly<Record<string, string>>,
  loopback: ForeignHeader | null,
  other?: ForeignHeader | null,
])[] = [
  [{}, null],
  [{ host: "127.0.0.1:3000" }, null],
  [{ host: "127.8.8.8" }, null],
  [{ host: "LOCALHOST:3000" }, null],
  [{ host: "[::1]:3000" }, null],
  [{ host: "evil.example" }, "Host", null],
  [{ host: "localhost.evil.example:3000" }, "Host", null],
  [{ host: "127.0.0.1.evil.example" }, "Host", null],
  [{ host: "evil.example", origin: "http://evil.example" }, "Host", null],
  [{ host: "a/b" }, "Host", null],
  [{ host: "" }, "Host", null],
  [{ host: "127.0.0.1:3000", origin: "http://127.0.0.1:3000" }, null],
  [{ host: "127.0.0.1:3000", origin: own }, null],
  [{ host: "127.0.0.1:3000", origin: own, "sec-fetch-site": "same-site" }, null],
  [{ host: "localhost:3000", origin: own, "sec-fetch-site": "cross-site" }, null],
  [{ host: "127.0.0.1:3000", origin: "http://127.0.0.1:8080" }, "Origin"],
  [{ host: "127.0.0.1:3000", origin: "http://evil.example" }, "Origin"],
  [{ host: "127.0.0.1:3000", origin: "null" }, "Origin"],
  [{ host: "127.0.0.1:3000", "sec-fetch-site": "cross-site" }, "Origin"],
  [{ host: "127.0.0.1:3000", "sec-fetch-site": "none" }, null],
  [{ origin: "http://evil.example" }, "Origin"],
];

for (const [headers, loopback, other = loopback] of rows) {
  Deno.test(`foreignHeader() of ${JSON.stringify(headers)} is ${loopback}`, () => {
    const record = { get: (name: string) => headers[name] ?? null };
    strictEqual(foreignHeader(record, { origins: [own], checksHost: true }), loopback);
    strictEqual(foreignHeader(record, { origins: [own], checksHost: false }), other);
  });
}
