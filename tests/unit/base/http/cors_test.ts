import { deepStrictEqual, strictEqual } from "node:assert/strict";
import {
  actualHeaders,
  type CrossOriginRequest,
  preflightHeaders,
} from "../../../../src/base/http/cors.ts";

function request(method: string, headers: Record<string, string>): CrossOriginRequest {
  return { method, headers: new Headers(headers) };
}

const origin = { Origin: "http://a.io" };
const posting = { ...origin, "Access-Control-Request-Method": "POST" };
const allowed = ["http://a.io", "http://b.io"];

const anyOrigin = ["Access-Control-Allow-Origin", "*"];
const thisOrigin = [
  ["Access-Control-Allow-Origin", "http://a.io"],
  ["Access-Control-Allow-Credentials", "true"],
];
const methods = ["Access-Control-Allow-Methods", "GET, POST, PATCH, PUT, DELETE, OPTIONS, HEAD"];
const maxAge = ["Access-Control-Max-Age", "86400"];
const exposed = [
  "Access-Control-Expose-Headers",
  "Content-Encoding, Content-Location, Content-Range, Content-Type, Date, Location, Server, " +
  "Transfer-Encoding, Range-Unit",
];

const unlimited = { has: () => false, bookmark: null } as const;

Deno.test("preflightHeaders answers preflight requests", () => {
  for (const all of [null, []]) {
    deepStrictEqual(preflightHeaders(request("OPTIONS", posting), all), [
      anyOrigin,
      methods,
      maxAge,
    ]);
  }
  deepStrictEqual(preflightHeaders(request("OPTIONS", posting), allowed), [
    ...thisOrigin,
    methods,
    maxAge,
  ]);
});

Deno.test("preflightHeaders allows the requested method and headers", () => {
  const rows: [requested: string, names: string][] = [
    ["Foo,Bar", "Authorization, Foo, Bar, Accept, Accept-Language, Content-Language"],
    ["", "Authorization, Accept, Accept-Language, Content-Language"],
    [
      " accept ,X-Y,, authorization,x-y",
      "Authorization, accept, X-Y, Accept-Language, Content-Language",
    ],
  ];
  for (const [requested, names] of rows) {
    const headers = { ...posting, "Access-Control-Request-Headers": requested };
    deepStrictEqual(preflightHeaders(request("OPTIONS", headers), null), [
      anyOrigin,
      methods,
      ["Access-Control-Allow-Headers", names],
      maxAge,
    ]);
  }
});

Deno.test("preflightHeaders allows QUERY where requests may have it", () => {
  const querying = request("OPTIONS", { ...origin, "Access-Control-Request-Method": "QUERY" });
  strictEqual(preflightHeaders(querying, null), null);
  const [name, value] = methods;
  deepStrictEqual(preflightHeaders(querying, null, { takesQuery: true }), [
    anyOrigin,
    [name, `${value}, QUERY`],
    maxAge,
  ]);
  deepStrictEqual(preflightHeaders(request("OPTIONS", posting), null, { takesQuery: true }), [
    anyOrigin,
    methods,
    maxAge,
  ]);
});

Deno.test("preflightHeaders ignores requests that are not preflight", () => {
  const rows: [method: string, headers: Record<string, string>, origins: string[] | null][] = [
    ["GET", posting, null],
    ["OPTIONS", {}, null],
    ["OPTIONS", origin, null],
    ["OPTIONS", { "Access-Control-Request-Method": "POST" }, null],
    ["OPTIONS", { ...origin, "Access-Control-Request-Method": "TRACE" }, null],
    ["OPTIONS", { ...origin, "Access-Control-Request-Method": "post" }, null],
    ["OPTIONS", { ...posting, "Access-Control-Request-Headers": "a b" }, null],
    ["OPTIONS", { ...posting, "Access-Control-Request-Headers": "a,b:c" }, null],
    ["OPTIONS", { ...posting, Origin: "http://evil" }, allowed],
    ["OPTIONS", { ...posting, Origin: "http://a.io/" }, allowed],
    ["OPTIONS", { ...posting, Origin: "HTTP://A.IO" }, allowed],
    ["OPTIONS", { ...posting, Origin: "null" }, allowed],
  ];
  for (const [method, headers, origins] of rows) {
    strictEqual(preflightHeaders(request(method, headers), origins), null, JSON.stringify(headers));
  }
});

Deno.test("actualHeaders lets pages of allowed origins see the answer", () => {
  for (const method of ["GET", "HEAD", "POST", "PATCH", "PUT", "DELETE", "TRACE"]) {
    deepStrictEqual(actualHeaders(request(method, origin), null, unlimited), [anyOrigin, exposed]);
    deepStrictEqual(actualHeaders(request(method, origin), [], unlimited), [anyOrigin, exposed]);
    deepStrictEqual(actualHeaders(request(method, origin), allowed, unlimited), [
      ...thisOrigin,
      exposed,
    ]);
    deepStrictEqual(actualHeaders(request(method, {}), null, unlimited), []);
    deepStrictEqual(
      actualHeaders(request(method, { Origin: "http://evil" }), allowed, unlimited),
      [],
    );
  }
  deepStrictEqual(actualHeaders(request("OPTIONS", posting), null, unlimited), []);
  deepStrictEqual(actualHeaders(request("OPTIONS", origin), allowed, unlimited), []);
});

Deno.test("actualHeaders lets pages see the headers that the response has", () => {
  const names = ["RateLimit", "ETag", "Svc-Bookmark", "X-Other"];
  const shown = actualHeaders(request("GET", origin), null, {
    has: (name) => names.includes(name),
    bookmark: "Svc-Bookmark",
  });
  deepStrictEqual(shown, [
    anyOrigin,
    [exposed[0], `${exposed[1]}, ETag, RateLimit, Svc-Bookmark`],
  ]);
});
