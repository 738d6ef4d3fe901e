/** Which coding a client receives, for which types, and under which tag. */
import { strictEqual } from "node:assert/strict";
import {
  chooseCoding,
  isCompressible,
  type ResponseCoding,
} from "../../../../src/base/http/accept_encoding.ts";
import { codedTag, uncodedTags } from "../../../../src/base/http/etag.ts";
import { isCrossOrigin } from "../../../../src/base/http/foreign_site.ts";

const offered: readonly ResponseCoding[] = ["zstd", "br", "gzip"];

const choices: readonly (readonly [value: string | null, coding: ResponseCoding | null])[] = [
  [null, null],
  ["", null],
  ["gzip", "gzip"],
  ["x-gzip", "gzip"],
  ["GZIP", "gzip"],
  ["gzip, deflate, br, zstd", "zstd"],
  ["gzip, deflate, br", "br"],
  ["gzip;q=1.0, br;q=0.5", "gzip"],
  ["br;q=0.5, gzip;q=0.5", "br"],
  ["gzip ; q=0.001", "gzip"],
  ["gzip;q=0", null],
  ["gzip;q=0.000, *", "zstd"],
  ["*", "zstd"],
  ["zstd;q=0, *;q=0.1", "br"],
  ["*;q=0", null],
  ["deflate", null],
  ["identity", null],
  ["identity;q=0", null],
  ["identity;q=1, gzip;q=0.5", null],
  ["identity;q=0.5, gzip;q=1", "gzip"],
  ["identity, gzip", "gzip"],
  ["gzip;q=2", null],
  ["gzip;q=-1", null],
  ["gzip;q=0.5.5", null],
  [",,gzip,,", "gzip"],
];

for (const [value, coding] of choices) {
  Deno.test(`chooseCoding(${JSON.stringify(value)}) returns ${coding}`, () => {
    strictEqual(chooseCoding(value, offered), coding);
  });
}

Deno.test("chooseCoding() returns offered codings only, the first among equals", () => {
  strictEqual(chooseCoding("zstd, br, gzip", ["gzip", "br"]), "gzip");
  strictEqual(chooseCoding("zstd", ["gzip"]), null);
  strictEqual(chooseCoding("*", []), null);
});

const types: readonly (readonly [type: string, isCompressible: boolean])[] = [
  ["application/json; charset=utf-8", true],
  ["application/geo+json; charset=utf-8", true],
  ["application/vnd.pgrst.object+json", true],
  ["application/openapi+json", true],
  ["application/x-ndjson", true],
  ["text/csv; charset=utf-8", true],
  ["TEXT/HTML", true],
  ["image/svg+xml", true],
  ["text/event-stream", false],
  ["text/event-stream; charset=utf-8", false],
  ["application/octet-stream", false],
  ["image/png", false],
  ["application/zip", false],
  ["application/vnd.apache.arrow.stream", false],
  ["video/mp4", false],
  ["", false],
];

for (const [type, isOne] of types) {
  Deno.test(`isCompressible(${type}) returns ${isOne}`, () => {
    strictEqual(isCompressible(type), isOne);
  });
}

Deno.test("codedTag() adds a suffix that uncodedTags() removes", () => {
  for (const coding of offered) {
    strictEqual(codedTag('"a"', coding), `"a-${coding}"`);
    strictEqual(codedTag('W/"a"', coding), `W/"a-${coding}"`);
    strictEqual(uncodedTags(codedTag('"a"', coding)), '"a"');
  }
  strictEqual(codedTag("a", "gzip"), "a");
  strictEqual(uncodedTags('W/"a-gzip", "b-br", "c-zstd-1", *'), 'W/"a", "b", "c-zstd-1", *');
});

const sites: readonly (readonly [Readonly<Record<string, string>>, boolean])[] = [
  [{ host: "a" }, false],
  [{ host: "a", "sec-fetch-site": "same-origin" }, false],
  [{ host: "a", "sec-fetch-site": "none" }, false],
  [{ host: "a", "sec-fetch-site": "same-site" }, true],
  [{ host: "a", "sec-fetch-site": "cross-site" }, true],
  [{ host: "A:80", origin: "http://a:80" }, true],
  [{ host: "a", origin: "http://a" }, false],
  [{ host: "A", origin: "http://a" }, false],
  [{ host: "a", origin: "http://b" }, true],
  [{ host: "a", origin: "null" }, true],
  [{ origin: "http://b" }, true],
];

for (const [headers, isCross] of sites) {
  Deno.test(`isCrossOrigin(${JSON.stringify(headers)}) returns ${isCross}`, () => {
    strictEqual(isCrossOrigin(headers), isCross);
  });
}
