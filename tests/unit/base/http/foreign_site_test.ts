import { strictEqual } from "node:assert/strict";
import {
  type ForeignHeader,
  foreignHeader,
  isForeignWrite,
} from "../../../../src/base/http/foreign_site.ts";

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
  [{ host: "127.0.0.1:3000", "sec-fetch-site": "same-site" }, "Origin"],
  [{ host: "127.0.0.1:3000", "sec-fetch-site": "same-origin" }, null],
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

const app = "https://app.example";
const proxy = "https://api.example/v1";

/** Headers of a POST, and whether it is foreign without and with the URL that clients know. */
const writes: readonly (readonly [
  headers: Readonly<Record<string, string>>,
  unknownUrl: boolean,
  knownUrl?: boolean,
])[] = [
  [{}, false],
  [{ "sec-fetch-site": "same-origin" }, false],
  [{ "sec-fetch-site": "none" }, false],
  [{ "sec-fetch-site": "same-site" }, true],
  [{ "sec-fetch-site": "cross-site" }, true],
  [{ "sec-fetch-site": "" }, true],
  [{ "sec-fetch-site": "Same-Origin" }, true],
  [{ "sec-fetch-site": "cross-site", origin: app }, false],
  [{ "sec-fetch-site": "cross-site", origin: "https://api.example" }, true],
  [{ "sec-fetch-site": "same-origin", origin: "https://evil.example" }, false],
  [{ origin: app }, false],
  [{ origin: `${app}/` }, true],
  [{ origin: "https://APP.example" }, true],
  [{ origin: "https://api.example" }, false],
  [{ origin: "https://api.example:443" }, false],
  [{ origin: "http://api.example" }, false, true],
  [{ origin: "https://api.example:8443" }, true],
  [{ origin: "https://evil.example" }, true],
  [{ origin: "https://api.example.evil.example" }, true],
  [{ origin: "null" }, true],
  [{ origin: "" }, true],
  [{ origin: "api.example" }, true],
  [{ referer: "https://evil.example/" }, false],
];

for (const [headers, unknownUrl, knownUrl = unknownUrl] of writes) {
  Deno.test(`isForeignWrite() of a POST with ${JSON.stringify(headers)} is ${unknownUrl}`, () => {
    const post = { method: "POST", headers, host: "api.example" };
    strictEqual(isForeignWrite(post, { origins: [app], ownUrl: null }), unknownUrl);
    strictEqual(isForeignWrite(post, { origins: [app], ownUrl: proxy }), knownUrl);
  });
}

Deno.test("isForeignWrite() takes the URL that clients know if a proxy replaces the host", () => {
  const headers = { origin: "https://api.example" };
  const post = { method: "POST", headers, host: "127.0.0.1:3000" };
  strictEqual(isForeignWrite(post, { origins: [], ownUrl: proxy }), false);
  strictEqual(isForeignWrite(post, { origins: [], ownUrl: null }), true);
});

Deno.test("isForeignWrite() is about methods that write", () => {
  const headers = { "sec-fetch-site": "cross-site", origin: "https://evil.example" };
  const isForeign = (method: string) =>
    isForeignWrite({ method, headers, host: "api.example" }, { origins: [], ownUrl: null });
  for (const method of ["GET", "HEAD", "OPTIONS", "QUERY"]) strictEqual(isForeign(method), false);
  for (const method of ["POST", "PUT", "PATCH", "DELETE", "get", "BREW"]) {
    strictEqual(isForeign(method), true, method);
  }
});
