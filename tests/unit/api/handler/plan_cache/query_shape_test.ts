import { deepStrictEqual, notStrictEqual, strictEqual } from "node:assert/strict";
import type { RawRequest } from "../../../../../src/api/request/raw_request.ts";
import {
  canonicalOf,
  payloadKey,
  queryWith,
  readQueryShape,
} from "../../../../../src/api/handler/plan_cache/query_shape.ts";
import type { Payload } from "../../../../../src/api/request/body/body_decoder.ts";

const noBytes = new Uint8Array(0);

function rawOf(target: string, more: Partial<RawRequest> = {}): RawRequest {
  const [path, query = ""] = target.split("?") as [string, string?];
  return { method: "GET", path, query, headers: {}, cookies: {}, ...more };
}

const untagged = { etagMode: "off" } as const;

function shape(
  target: string,
  more: Partial<RawRequest> = {},
  config: Parameters<typeof readQueryShape>[1] = untagged,
) {
  const read = readQueryShape(rawOf(target, more), config);
  if (read === null) throw new Error(`${target} has no shape`);
  return read;
}

const sameShape: [string, string, readonly string[], readonly string[]][] = [
  ["/t", "/t", [], []],
  ["/t?id=eq.5", "/t?id=eq.66", ["5"], ["66"]],
  ["/t?id=eq.5&n=gt.a", "/t?id=eq.&n=gt.b.c", ["5", "a"], ["", "b.c"]],
  ["/t?n=eq.a%2Cb", "/t?n=eq.%C3%A9+x", ["a,b"], ["é x"]],
  ["/t?r.n=lt.1", "/t?r.n=lt.2", ["1"], ["2"]],
  ["/t?offset=10", "/t?offset=999999999", ["10"], ["999999999"]],
  ["/t?@q=a.b(c&order=n.add(@q)", "/t?@q=eq.5&order=n.add(@q)", ["a.b(c"], ["eq.5"]],
  ["/t?after=WzEsImYiLFsiMSJdXQ", "/t?after=WzEsImYiLFsiMiJdXQ", ["1"], ["2"]],
  ["/t?before=WzEsImYiLFsiMSJdXQ", "/t?before=WzEsImYiLFsiMiJdXQ", ["1"], ["2"]],
  ["/rpc/f?a=1&b=x", "/rpc/f?a=-2.5&b=y%20z", ["1", "x"], ["-2.5", "y z"]],
  ["/rpc/f?a=1&id=eq.1", "/rpc/f?a=2&id=eq.2", ["1", "1"], ["2", "2"]],
];

Deno.test("readQueryShape gives one key to requests that differ in values", async (t) => {
  for (const [one, other, values, otherValues] of sameShape) {
    await t.step(`${one} and ${other}`, () => {
      strictEqual(shape(one).key, shape(other).key);
      deepStrictEqual(shape(one).values, values);
      deepStrictEqual(shape(other).values, otherValues);
    });
  }
});

const otherShape: [string, string][] = [
  ["/t", "/u"],
  // Another fingerprint, NULL, another direction, and no cursor.
  ["/t?after=WzEsImYiLFsiMSJdXQ", "/t?after=WzEsImciLFsiMSJdXQ"],
  ["/t?after=WzEsImYiLFsiMSJdXQ", "/t?after=WzEsImYiLFtudWxsXV0"],
  ["/t?after=WzEsImYiLFsiMSJdXQ", "/t?before=WzEsImYiLFsiMSJdXQ"],
  ["/t?after=", "/t?before="],
  ["/t?after=x", "/t?after=y"],
  ["/t?id=eq.5", "/t?id=neq.5"],
  ["/t?id=eq.5", "/t?ie=eq.5"],
  ["/t?id=eq.5", "/t?id=not.eq.5"],
  ["/t?id=in.(1,2)", "/t?id=in.(1,3)"],
  ["/t?id=eq(any).{1}", "/t?id=eq(any).{2}"],
  ["/t?n=like.a*", "/t?n=like.b*"],
  ["/t?id=is.null", "/t?id=is.true"],
  ["/t?select=eq.a", "/t?select=eq.b"],
  ["/t?order=eq.a", "/t?order=eq.b"],
  ["/t?r.order=eq.a", "/t?r.order=eq.b"],
  ["/t?or=eq.a", "/t?or=eq.b"],
  ["/t?not.and=(a.eq.1)", "/t?not.and=(a.eq.2)"],
  ["/t?n=gt(col).a", "/t?n=gt(col).b"],
  ["/t?having=(n.gt.1)", "/t?having=(n.gt.2)"],
  ["/t?@a=1", "/t?@b=1"],
  ["/t?limit=1", "/t?limit=2"],
  ["/t?offset=0", "/t?offset=1"],
  ["/t?offset=01", "/t?offset=1"],
  ["/t?offset=1000000000", "/t?offset=1"],
  ["/t?r.offset=1", "/t?r.offset=2"],
  ["/t?a=eq.1&b=eq.2", "/t?b=eq.2&a=eq.1"],
  ["/t?a=eq.1&b", "/t?a=eq.1"],
  ["/t?a=eq.1%26b", "/t?a=eq.1&b"],
  ["/t?id=5", "/t?id=6"],
  ["/rpc/f?a=x.y", "/rpc/f?a=x.z"],
  ["/rpc/f?a=x(y", "/rpc/f?a=x(z"],
  ["/rpc/f?a=1&a=2", "/rpc/f?a=1"],
];

Deno.test("readQueryShape tells requests apart that differ in more than values", async (t) => {
  for (const [one, other] of otherShape) {
    await t.step(`${one} and ${other}`, () => {
      notStrictEqual(shape(one).key, shape(other).key);
    });
  }
});

const shaping: [string, Partial<RawRequest>][] = [
  ["the method", { method: "HEAD" }],
  ...["accept", "prefer", "range", "accept-profile"].flatMap((
    name,
  ): [string, Partial<RawRequest>][] => [
    [name, { headers: { [name]: "x" } }],
    [`an empty ${name}`, { headers: { [name]: "" } }],
  ]),
];

Deno.test("readQueryShape looks at the headers that planning looks at", async (t) => {
  const keys = new Set([shape("/t").key]);
  for (const [name, more] of shaping) {
    await t.step(name, () => void keys.add(shape("/t", more).key));
  }
  for (const name of ["content-type", "content-profile"]) {
    keys.add(shape("/t", { method: "POST", headers: { [name]: "x" } }).key);
  }
  strictEqual(keys.size, shaping.length + 3);
  strictEqual(shape("/t", { headers: { "user-agent": "x" } }).key, shape("/t").key);
});

Deno.test("readQueryShape tells preconditions apart, but not their tags", () => {
  const headers = ["if-match", "if-none-match"].flatMap((name) => [
    { [name]: '"a"' },
    { [name]: "*" },
  ]);
  const both = { "if-match": "*", "if-none-match": '"a"' };
  const keyOf = (each: Record<string, string>, etagMode: "off" | "on") =>
    shape("/t", { headers: each }, { etagMode }).key;
  strictEqual(new Set([{}, both, ...headers].map((each) => keyOf(each, "on"))).size, 6);
  strictEqual(keyOf({ "if-match": 'W/"b", "c"' }, "on"), keyOf({ "if-match": '"a"' }, "on"));
  strictEqual(new Set([{}, both, ...headers].map((each) => keyOf(each, "off"))).size, 1);
});

const shapeless: [string, Partial<RawRequest>][] = [
  ["/t", { method: "PUT" }],
  ["/t", { method: "OPTIONS" }],
  ["/t?offset=1", { method: "DELETE" }],
  ["/t?n=eq.%00", {}],
  ["/t%00?n=eq.1", {}],
  [`/t?n=eq.${"x".repeat(2100)}`, {}],
  [`/${"x".repeat(2100)}`, {}],
  ["/t?n=eq.1", { headers: { accept: "x".repeat(2100) } }],
  ["/t?n=eq.1", { method: "PATCH", headers: { prefer: "x".repeat(2100) } }],
  ["/t?offset=1&offset=2", {}],
  ["/t?offset=1", { headers: { range: "0-4" } }],
];

Deno.test("readQueryShape leaves out what is to be refused, too long or decided by several", async (t) => {
  for (const [target, more] of shapeless) {
    await t.step(
      target.slice(0, 40),
      () => strictEqual(readQueryShape(rawOf(target, more), untagged), null),
    );
  }
});

const rows = { kind: "json", shape: "object", source: "json", text: noBytes, moreKeys: 0 } as const;
const payloads: [string, Payload | null, string | null][] = [
  ["nothing", null, ""],
  ["an object", { ...rows, keys: ["a", "b"] }, "\0bobject\0json\0a\0b"],
  ["an array", { ...rows, shape: "array", keys: ["a"] }, "\0barray\0json\0a"],
  ["a form", { ...rows, source: "form", keys: ["a"] }, "\0bobject\0form\0a"],
  ["lines", { ...rows, source: "csv", keys: ["a"] }, null],
  ["keys that columns name", { ...rows, keys: null }, "\0bobject\0json"],
  ["no keys", { ...rows, keys: [] }, null],
  ["long keys", { ...rows, keys: ["a", "x".repeat(2100)] }, null],
  ["a key with NUL", { ...rows, keys: ["a", "b\0c"] }, null],
  ["arguments", { kind: "form", fields: [], keys: [], moreKeys: 0 }, null],
  ["text", { kind: "raw", type: "text", bytes: noBytes }, null],
];

Deno.test("payloadKey tells payloads apart that are planned in different ways", async (t) => {
  for (const [name, payload, expected] of payloads) {
    await t.step(name, () => strictEqual(payloadKey(payload), expected));
  }
});

Deno.test("queryWith puts other values into the slots and leaves the rest", () => {
  const rows: [string, readonly string[], string][] = [
    ["/t?id=eq.5&select=a,b", ["x&y"], "id=eq.x%26y&select=a%2Cb"],
    ["/t?a=eq.a&a=eq.eq&b", ["1", "2"], "a=eq.1&a=eq.2&b"],
    ["/rpc/f?a=1&offset=7", ["x", "9"], "a=x&offset=9"],
  ];
  for (const [target, others, expected] of rows) {
    strictEqual(queryWith(shape(target), others), expected);
  }
});

Deno.test("canonicalOf gives the query string that stands for all equivalent ones", () => {
  strictEqual(canonicalOf(shape("/t?b=eq.1&a=eq.é")), "a=eq.%C3%A9&b=eq.1");
  strictEqual(canonicalOf(shape("/t")), "");
});

Deno.test("readQueryShape tells a query request from the GET that it stands for", () => {
  const get = shape("/t?id=eq.1");
  const received = (method: string, path: string, form: "method" | "path") =>
    shape("/t?id=eq.1", { received: { method, path, query: "", form } });
  const query = received("QUERY", "/t", "method");
  const post = received("POST", "/t/$query", "path");
  deepStrictEqual([get.values, query.values, post.values], [["1"], ["1"], ["1"]]);
  strictEqual(new Set([get.key, query.key, post.key]).size, 3);
  strictEqual(get.hasBody || query.hasBody, false);
});

Deno.test("readQueryShape of QUERY depends on the type of its arguments, and reads no others", () => {
  const call = (type: string) =>
    shape("/rpc/f?a=1&id=eq.2", {
      method: "QUERY",
      headers: { "content-type": type },
      received: { method: "QUERY", path: "/rpc/f", query: "", form: "method" },
    });
  const json = call("application/json");
  deepStrictEqual([json.isCall, json.hasBody, json.values], [false, true, ["2"]]);
  notStrictEqual(json.key, call("application/json;charset=utf-8").key);
});

Deno.test("canonicalOf keeps parameters of one name apart for query requests", () => {
  const both = shape("/t?id=gt.1&a&id=lt.5");
  strictEqual(canonicalOf(both), "a=&id=gt.1,lt.5");
  strictEqual(canonicalOf(both, { queryForm: "method" }), "a&id=gt.1&id=lt.5");
});
