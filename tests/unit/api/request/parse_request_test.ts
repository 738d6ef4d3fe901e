import { svcDialect } from "../../../../src/base/dialect.ts";
import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { receiveBody } from "../../../../src/api/request/body/body.ts";
import {
  parseHead,
  type RequestConfig,
  type RequestHead,
} from "../../../../src/api/request/parse_request.ts";
import { noPreconditions } from "../../../../src/api/request/preconditions.ts";
import { readRawRequest, splitUrl } from "../../../../src/api/request/raw_request.ts";
import { parseQuery } from "../../../../src/api/request/url/query_params.ts";
import { noPreferences } from "../../../support/handler/reading.ts";
import { rejectionOf } from "../../../support/handler/refusal.ts";

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

function parse(line: string, init?: RequestInit): RequestHead {
  return parseHead(readRawRequest(request(line, init)), config);
}

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

Deno.test("parseHead() reads all but the body", () => {
  const headers = {
    Accept: "text/csv",
    "Accept-Profile": "v2",
    Cookie: "a=1",
    Prefer: "count=exact",
    Range: "0-9",
  };
  deepStrictEqual(parse("GET /items%20x?id=eq.5&limit=3", { headers }).request, {
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
    headers: { accept: "text/csv", "accept-profile": "v2", prefer: "count=exact", range: "0-9" },
    cookies: { a: "1" },
  });
  deepStrictEqual(parse("GET /").request, {
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

Deno.test("parseHead() returns a reader only where a body has a use", () => {
  for (const line of ["POST /items", "PATCH /items", "PUT /items", "POST /rpc/f"]) {
    strictEqual(parse(line).reader === null, false, line);
  }
  for (const line of ["DELETE /items", "OPTIONS /items"]) {
    strictEqual(parse(line, { headers: { "Content-Type": "a/b" } }).reader, null, line);
  }
});

Deno.test("receiveBody() rejects a body that breaks off as an unreadable one", async () => {
  const body = new ReadableStream({
    start: (controller) => controller.error(new Error("connection reset")),
  });
  const sent = request("POST /items", { body });
  const { reader } = parseHead(readRawRequest(sent), config);
  const refusal = await rejectionOf(() => receiveBody(sent, reader!.begin));
  deepStrictEqual(refusal, { code: "102", status: 400, message: "The body ended early" });
});
