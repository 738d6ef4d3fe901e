import { deepStrictEqual, match, strictEqual } from "node:assert/strict";
import type { Observation } from "../../mod.ts";
import { serviceSuite } from "../support/handler/api.ts";
import { answer, answers } from "../support/handler/rows.ts";

const base = { dbSchemas: ["api"], dbAnonRole: "anon" } as const;
const finished: string[] = [];
const observe = (event: Observation) => {
  if (event.kind === "request-finished") finished.push(`${event.method} ${event.status}`);
};
const open = serviceSuite("options", { ...base, observe }, { title: "any origin" });
const listed = serviceSuite("options", {
  ...base,
  serverCorsAllowedOrigins: ["http://a.io", "http://b.io"],
}, { title: "listed origins" });

const methods = "GET, POST, PATCH, PUT, DELETE, OPTIONS, HEAD";
const exposed =
  "Content-Encoding, Content-Location, Content-Range, Content-Type, Date, Location, Server, Transfer-Encoding, Range-Unit";

const asks = (Origin: string, method: string, names?: string) => ({
  headers: {
    Origin,
    "Access-Control-Request-Method": method,
    ...(names === undefined ? {} : { "Access-Control-Request-Headers": names }),
  },
});
const from = (Origin: string) => ({ headers: { Origin } });
const none = {
  "Access-Control-Allow-Origin": null,
  "Access-Control-Allow-Credentials": null,
  "Access-Control-Expose-Headers": null,
};

open.rows("preflight requests", [
  ["OPTIONS /keyed", asks("http://x.io", "PUT", "authorization, accept, x-a"), 200, undefined, {
    "Access-Control-Allow-Headers": "Authorization, accept, x-a, Accept-Language, Content-Language",
  }],
  ["OPTIONS /keyed", asks("http://x.io", "GET", "not a name"), 200, undefined, {
    "Access-Control-Allow-Methods": null,
    Allow: "OPTIONS,GET,HEAD,POST,PUT,PATCH,DELETE",
  }],
]);

open.rows("requests of any origin", [
  [
    "GET /counted",
    from("http://x.io"),
    ...answer("401 42501 | permission denied for view counted"),
    {
      "Access-Control-Allow-Origin": "*",
      "Access-Control-Allow-Credentials": null,
      "Access-Control-Expose-Headers": exposed,
    },
  ],
  ["GET /rpc/fixed?a=1", from("null"), 200, 1, {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Expose-Headers": exposed,
  }],
]);

open.test("a preflight request is not logged", async (api) => {
  finished.length = 0;
  await api("OPTIONS /keyed", asks("http://x.io", "GET"));
  deepStrictEqual(finished, []);
  await api("OPTIONS /keyed", from("http://x.io"));
  deepStrictEqual(finished, ["OPTIONS 200"]);
});

listed.rows("listed origins", [
  ["OPTIONS /keyed", asks("http://b.io", "GET"), 200, undefined, {
    "Access-Control-Allow-Origin": "http://b.io",
    "Access-Control-Allow-Credentials": "true",
    "Access-Control-Allow-Methods": methods,
  }],
  // Shared caches must not serve a response to a request of another origin.
  ["GET /rpc/fixed?a=1", {}, 200, 1, { Vary: "Accept, Prefer, Range, Authorization, Origin" }],
  ["OPTIONS /keyed", asks("http://a.io", "GET"), 200, undefined, { Vary: "Authorization, Origin" }],
  ["GET /rpc/fixed?a=1", from("http://a.io"), 200, 1, {
    "Access-Control-Allow-Origin": "http://a.io",
    "Access-Control-Allow-Credentials": "true",
    Vary: "Accept, Prefer, Range, Authorization, Origin",
    "Access-Control-Expose-Headers": exposed,
  }],
  [
    "GET /nothing/at/all",
    from("http://a.io"),
    ...answer("404 SVC125 | Invalid path specified in request URL"),
    { "Access-Control-Allow-Origin": "http://a.io" },
  ],
  ...["http://evil.io", "http://a.io.evil.io", "HTTP://A.IO", "http://a.io, http://b.io", "null"]
    .map((origin) => ["GET /rpc/fixed?a=1", from(origin), 200, 1, none] as const),
  ["OPTIONS /keyed", asks("http://evil.io", "GET"), 200, undefined, {
    "Access-Control-Allow-Methods": null,
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Allow-Credentials": null,
    Allow: "OPTIONS,GET,HEAD,POST,PUT,PATCH,DELETE",
  }],
]);

const traced = serviceSuite("options", {
  ...base,
  serverTraceHeader: "X-Request-Id",
  serverTimingEnabled: true,
}, { title: "trace and timing" });
const id = { "X-Request-Id": "abc 1" };
traced.rows("the trace header is echoed as it was sent", [
  ["GET /rpc/fixed?a=1", { headers: id }, 200, 1, id],
  ["HEAD /rpc/fixed?a=1", { headers: { "x-request-id": "abc 1" } }, 200, undefined, id],
  ["OPTIONS /keyed", { headers: id }, 200, undefined, id],
  ...answers()`
    OPTIONS /keyed {X-Request-Id: abc 1} {Origin: http://x.io} {Access-Control-Request-Method: GET}
      200
      X-Request-Id: abc 1
    DELETE /a/b {X-Request-Id: abc 1}
      404 SVC125 | Invalid path specified in request URL
      X-Request-Id: abc 1
  `,
  ["GET /rpc/fixed?a=1", {}, 200, 1, { "X-Request-Id": null }],
]);

const timing =
  /^jwt;dur=\d+\.\d, parse;dur=\d+\.\d, plan;dur=\d+\.\d, transaction;dur=\d+\.\d, response;dur=\d+\.\d$/;
traced.test("Server-Timing is sent with whatever succeeds", async (api) => {
  for (
    const line of [
      "GET /rpc/fixed?a=1",
      "HEAD /rpc/fixed?a=1",
      "POST /rpc/changing",
      "OPTIONS /keyed",
      "GET /",
      "HEAD /",
    ]
  ) {
    const response = await api(line);
    strictEqual(response.status, 200, line);
    match(response.headers.get("Server-Timing") ?? "", timing, line);
  }
  for (const line of ["GET /a/b", "GET /rpc/fixed?a=x", "GET /nothing"]) {
    const response = await api(line);
    strictEqual(response.headers.get("Server-Timing"), null, line);
  }
  const preflight = await api("OPTIONS /keyed", asks("http://x.io", "GET"));
  strictEqual(preflight.headers.get("Server-Timing"), null);
});
open.test("Server-Timing is not sent unless it is switched on", async (api) => {
  strictEqual((await api("GET /rpc/fixed?a=1")).headers.get("Server-Timing"), null);
});
