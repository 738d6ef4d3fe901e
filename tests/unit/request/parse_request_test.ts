import { svcDialect } from "../../../src/dialect.ts";
import { deepStrictEqual, strictEqual } from "node:assert/strict";
import type { ApiRequest, Preferences } from "../../../src/request/api_request.ts";
import { parseRequest, type RequestConfig } from "../../../src/request/parse_request.ts";
import { noPreconditions } from "../../../src/request/preconditions.ts";
import { splitUrl } from "../../../src/request/raw_request.ts";
import { parseQuery } from "../../../src/request/query_params.ts";
import { type Refusal, refusalOf, rejectionOf } from "../../support/refusal.ts";

const config: RequestConfig = {
  dbSafeUpdate: false,
  etagMode: "off",
  dialect: svcDialect,
  dbSchemas: ["api", "v2"],
  dbRootSpec: null,
  openapiMode: "follow-privileges",
};

function request(line: string, init: RequestInit = {}): Request {
  const [method = "", target = ""] = line.split(" ");
  return new Request(`http://localhost:3000${target}`, { method, ...init });
}

function parse(line: string, init?: RequestInit): ApiRequest | Promise<ApiRequest> {
  return parseRequest(request(line, init), config);
}

const noPreferences: Preferences = {
  resolution: null,
  return: null,
  count: null,
  tx: null,
  missing: null,
  handling: null,
  timezone: null,
  maxAffected: null,
  unmatched: null,
  numbers: null,
  read: null,
  invalid: [],
};

Deno.test("splitUrl cuts path and query string out as they are", () => {
  const rows: [url: string, path: string, query: string][] = [
    ["http://h/", "/", ""],
    ["http://h", "/", ""],
    ["http://h:3000/a%20b?c=%41&d", "/a%20b", "c=%41&d"],
    ["http://h/a?", "/a", ""],
    ["http://h/a?b?c/d", "/a", "b?c/d"],
    ["http://h/a?b#c?d", "/a", "b"],
    ["http://h/a#b?c", "/a", ""],
    ["http://h//x//?y", "//x//", "y"],
    ["http://[::1]:3000/x", "/x", ""],
    ["http://user:a@h/x", "/x", ""],
  ];
  for (const [url, path, query] of rows) deepStrictEqual(splitUrl(url), { path, query }, url);
});

Deno.test("parseRequest reads what needs no body at once", () => {
  const headers = {
    Accept: "text/csv",
    "Accept-Profile": "v2",
    Cookie: "a=1",
    Prefer: "count=exact",
    Range: "0-9",
  };
  deepStrictEqual(parse("GET /items%20x?id=eq.5&limit=3", { headers }), {
    method: "GET",
    path: "/items%20x",
    queryString: "id=eq.5&limit=3",
    action: { kind: "read", relation: "items x", headersOnly: false },
    schema: "v2",
    schemaNegotiated: true,
    query: parseQuery("id=eq.5&limit=3", "relation"),
    bounds: { first: 0n, last: 2n },
    preferences: { ...noPreferences, count: "exact" },
    preconditions: noPreconditions,
    accept: [{ kind: "csv" }],
    payload: null,
    headers: {
      accept: "text/csv",
      "accept-profile": "v2",
      prefer: "count=exact",
      range: "0-9",
    },
    cookies: { a: "1" },
  });
  deepStrictEqual(parse("GET /"), {
    method: "GET",
    path: "/",
    queryString: "",
    action: { kind: "root", headersOnly: false },
    schema: "api",
    schemaNegotiated: true,
    query: parseQuery("", "relation"),
    bounds: { first: 0n, last: null },
    preferences: noPreferences,
    preconditions: noPreconditions,
    accept: [{ kind: "any" }],
    payload: null,
    headers: {},
    cookies: {},
  });
});

Deno.test("parseRequest reads the query string as the action wants it", async () => {
  const names = ({ query }: ApiRequest) => query.callArguments.map(([name]) => name);
  deepStrictEqual(names(await parse("GET /rpc/f?a=1")), ["a"]);
  deepStrictEqual(names(await parse("HEAD /rpc/f?a=1")), ["a"]);
  for (const line of ["GET /items?a=1", "GET /?a=1", "POST /rpc/f?a=1", "OPTIONS /rpc/f?a=1"]) {
    strictEqual(refusalOf(() => parse(line)).code, "100", line);
  }
});

Deno.test("parseRequest reads bodies that come in pieces, and only where there is a use", async () => {
  const encoder = new TextEncoder();
  const pieces = (text: string) =>
    ReadableStream.from([...encoder.encode(text)].map((byte) => Uint8Array.of(byte)));
  const text = '\ufeff [ {"é": 1}, {"é": "😀"} ] ';
  for (const line of ["POST /items", "PATCH /items", "PUT /items", "POST /rpc/f"]) {
    const { payload } = await parse(line, { body: pieces(text) });
    strictEqual(payload?.kind, "json");
    deepStrictEqual([payload.keys, payload.shape, payload.source], [["é"], "array", "json"]);
    strictEqual(new TextDecoder("utf-8", { ignoreBOM: true }).decode(payload.text), text.slice(1));
  }
  for (const line of ["DELETE /items", "OPTIONS /items"]) {
    const unread = request(line, { body: pieces("oops"), headers: { "Content-Type": "a/b" } });
    strictEqual((await parseRequest(unread, config)).payload, null);
    strictEqual(unread.bodyUsed, false);
    await unread.body?.cancel();
  }
});

Deno.test("parseRequest leaves JSON unread when columns are given, but not for PUT", async () => {
  const body = '[{"a":1},{"b":2}]';
  for (const line of ["POST /items", "PATCH /items", "POST /rpc/f"]) {
    const { payload } = await parse(`${line}?columns=a`, { body, headers: json });
    strictEqual(payload?.kind === "json" && payload.keys, null, line);
  }
  const refusal = await rejectionOf(() => parse("PUT /items?columns=a", { body, headers: json }));
  deepStrictEqual(refusal.message, "All object keys must match");
});

const json = { "Content-Type": "application/json" };

Deno.test("parseRequest reports the first problem", async () => {
  const profile = { "Content-Profile": "none", "Accept-Profile": "none" };
  const type = { "Content-Type": "audio/mp3" };
  const rows: [line: string, headers: Record<string, string>, code: string, status: number][] = [
    ["POST /a/b/c?x=1&limit=-1", { ...profile, ...type }, "125", 404],
    ["FOO /items?x=1&limit=-1", { ...profile, ...type }, "106", 406],
    ["FOO /items?x=1&limit=-1", type, "117", 405],
    ["DELETE /rpc/f?x=", type, "101", 405],
    ["POST /items?x=1&limit=-1", type, "100", 400],
    ["POST /items?limit=-1", type, "103", 416],
    ["PATCH /items?limit=1", type, "109", 400],
    ["PUT /items?limit=1", type, "114", 400],
    ["POST /items", type, "107", 415],
    ["POST /items", json, "102", 400],
    ["POST /rpc/f", json, "102", 400],
    ["GET /items?limit=1", { Range: "2-1" }, "103", 416],
    ["OPTIONS /items?limit=-1", {}, "103", 416],
  ];
  for (const [line, headers, code, status] of rows) {
    const body = /^(?:GET|OPTIONS)/.test(line) ? null : "oops";
    const refusal: Refusal = await rejectionOf(() => parse(line, { headers, body }));
    deepStrictEqual([refusal.code, refusal.status], [code, status], `${line} ${refusal.message}`);
  }
});

Deno.test("parseRequest takes a body that breaks off for an unreadable one", async () => {
  const body = new ReadableStream({
    start: (controller) => controller.error(new Error("connection reset")),
  });
  const refusal = await rejectionOf(() => parse("POST /items", { body }));
  deepStrictEqual(refusal, { code: "102", status: 400, message: "The body ended early" });
});
