/** Identifiers of requests, headers of all responses, the health path, and the events of requests. */
import { deepStrictEqual, match, notStrictEqual, strictEqual } from "node:assert/strict";
import { createHandler, type FinishedRequest } from "../../mod.ts";
import { withAdministeredHandler } from "../support/handler/administered_handler.ts";
import { serviceSuite } from "../support/handler/api.ts";
import { answers } from "../support/handler/rows.ts";
import { engines } from "../support/database/engines.ts";
import { buildRequest } from "../support/handler/request.ts";
import { testSecret } from "../support/handler/token.ts";

const base = { dbSchemas: ["api"], dbAnonRole: "anon" } as const;
const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

const idSetting = "GET /rpc/setting?name=request.id";
const nameSetting = "GET /rpc/setting?name=application_name";

const identified = serviceSuite("settings", {
  ...base,
  serverRequestIdHeader: "X-Request-Id",
  serverTraceHeader: "x-request-id",
  dbTraceApplicationName: true,
}, { title: "server-request-id-header" });

identified.rows("server-request-id-header keeps an identifier", [
  [idSetting, { headers: { "X-Request-Id": "a:1" } }, 200, "a:1", { "X-Request-Id": "a:1" }],
  ...answers()`
    POST /rpc/setting {X-Request-Id: a:1} with {"name":"request.id"}
      200 "a:1"
      X-Request-Id: a:1
    GET /rpc/setting?name=request.id {X-Request-Id: b} as settings_clerk | 200 "b"
    GET /rpc/setting?name=request.id {X-Request-Id: c} {Prefer: timezone=UTC}
      200 "c"
      X-Request-Id: c
  `,
]);

identified.rows("db-trace-application-name names the span, or else the request", [
  [nameSetting, { headers: { traceparent, "X-Request-Id": "a" } }, 200, `svc ${traceparent}`],
  [nameSetting, { headers: { "X-Request-Id": "a" } }, 200, "svc a"],
  [nameSetting, { headers: { "X-Request-Id": "a" }, as: "settings_clerk" }, 200, "svc a"],
  [nameSetting, { headers: { traceparent: "x", "X-Request-Id": "a" } }, 200, "svc a"],
  [nameSetting, { headers: { "X-Request-Id": "x".repeat(128) } }, 200, `svc ${"x".repeat(59)}`],
]);

identified.test("server-request-id-header makes an identifier in place of any other text", async (api) => {
  for (const sent of [undefined, "", "a b", "a\tb", 'a"', "x".repeat(129), "a, b"]) {
    const headers: Record<string, string> = sent === undefined ? {} : { "X-Request-Id": sent };
    const response = await api(idSetting, { headers });
    const id = response.headers.get("X-Request-Id")!;
    match(id, uuid);
    strictEqual(await response.json(), id);
  }
});

identified.test("server-request-id-header stands in every response", async (api) => {
  const origin = { Origin: "https://a.example", "X-Request-Id": "r" };
  const lines = [
    "GET /nothing",
    "GET /a/b/c",
    "PUT /rpc/setting",
    "GET /rpc/setting?name=x&select=(",
    "OPTIONS /rpc/setting",
    "HEAD /rpc/setting?name=request.id",
    "GET /",
  ];
  for (const line of lines) {
    strictEqual((await api(line, { headers: origin })).headers.get("X-Request-Id"), "r", line);
  }
  const badToken = { ...origin, Authorization: "Bearer x" };
  strictEqual((await api(idSetting, { headers: badToken })).headers.get("X-Request-Id"), "r");
  const preflight = { ...origin, "Access-Control-Request-Method": "GET" };
  const response = await api("OPTIONS /rpc/setting", { headers: preflight });
  strictEqual(response.headers.get("X-Request-Id"), "r");
  strictEqual(response.headers.get("Access-Control-Allow-Origin"), "*");
  const badHost = await api.handler(
    new Request("http://h/rpc/setting", { headers: { host: "a/b", "X-Request-Id": "r" } }),
  );
  deepStrictEqual([badHost.status, badHost.headers.get("X-Request-Id")], [400, "r"]);
});

const plain = serviceSuite("settings", base, { title: "without identifiers" });

plain.rows("request.id is not set without the option", [
  [idSetting, { headers: { "X-Request-Id": "a", traceparent } }, 200, null, {
    "X-Request-Id": null,
    "X-Content-Type-Options": null,
    "Content-Security-Policy": null,
    "Referrer-Policy": null,
  }],
]);

Deno.test("db-trace-application-name leaves the connection's name behind a transaction", async () => {
  const sql = `create function api.name() returns text stable language sql
      as $$ select current_setting('application_name') $$;
    create function api.id() returns text stable language sql
      as $$ select current_setting('request.id', true) $$;
    create function api.activity() returns text stable language sql security definer
      as $$ select application_name from pg_stat_activity where pid = pg_backend_pid() $$`;
  const config = {
    dbSchemas: ["api"],
    jwtSecret: testSecret,
    dbTraceApplicationName: true,
    serverRequestIdHeader: "X-Id",
    dbPool: 1,
    // The listener and its probe have connections of their own.
    dbChannelEnabled: false,
  };
  await withAdministeredHandler(sql, config, async ({ handler, admin }) => {
    const get = async (path: string, headers: Readonly<Record<string, string>>) => {
      const response = await handler(new Request(`http://h${path}`, { headers }));
      return await response.json();
    };
    const names = async () => {
      const { rows } = await admin.query(
        "select application_name as name from pg_stat_activity where usename = 'authenticator' " +
          "and datname = current_database() and backend_type = 'client backend'",
      );
      return rows.map((row) => row["name"]);
    };
    const before = await names();
    strictEqual(await get("/rpc/name", { "X-Id": "one" }), "svc one");
    strictEqual(await get("/rpc/activity", { "X-Id": "one" }), "svc one");
    strictEqual(await get("/rpc/activity", { traceparent }), `svc ${traceparent}`);
    deepStrictEqual(await names(), before);
    strictEqual(await get("/rpc/id", { "X-Id": "two" }), "two");
    notStrictEqual(await get("/rpc/id", {}), "two");
  });
});

const secured = serviceSuite("overrides", {
  ...base,
  serverSecurityHeaders: true,
  serverResponseHeaders: { "X-Frame-Options": "DENY", "Vary": "Nothing", "x-own": "é" },
}, { title: "server-security-headers" });

const policy = "default-src 'none'";
const allHeaders = {
  "X-Content-Type-Options": "nosniff",
  "Referrer-Policy": "no-referrer",
  "Content-Security-Policy": policy,
  "X-Frame-Options": "DENY",
  "X-Own": "é",
};
const respond = (headers: unknown) =>
  `GET /rpc/respond?headers=${encodeURIComponent(JSON.stringify(headers))}`;

secured.rows("server-security-headers and server-response-headers add to each response", [
  ["GET /notes?limit=0", {}, 200, [], {
    ...allHeaders,
    Vary: "Accept, Prefer, Range, Authorization, Origin",
  }],
  ["OPTIONS /notes", {}, 200, undefined, allHeaders],
  [respond([{ "Content-Security-Policy": "x" }]), {}, 200, "done", {
    ...allHeaders,
    "Content-Security-Policy": "x",
  }],
  [respond([{ "x-frame-options": "SAMEORIGIN" }]), {}, 200, "done", {
    ...allHeaders,
    "X-Frame-Options": "SAMEORIGIN",
  }],
  [respond([{ "Content-Type": "Text/HTML; charset=utf-8" }]), {}, 200, '"done"', {
    ...allHeaders,
    "Content-Security-Policy": null,
  }],
  [respond([{ "Content-Type": "application/xhtml+xml" }]), {}, 200, '"done"', {
    ...allHeaders,
    "Content-Security-Policy": null,
  }],
  [respond([{ "Content-Type": "image/svg+xml" }]), {}, 200, '"done"', allHeaders],
]);

secured.test("server-security-headers stand in errors and preflights", async (api) => {
  const error = await api("GET /nothing");
  strictEqual(error.status, 404);
  strictEqual(error.headers.get("Content-Security-Policy"), policy);
  strictEqual(error.headers.get("Vary"), "Accept, Prefer, Range, Authorization, Origin");
  const preflight = await api("OPTIONS /notes", {
    headers: { Origin: "https://a.example", "Access-Control-Request-Method": "GET" },
  });
  strictEqual(preflight.headers.get("X-Content-Type-Options"), "nosniff");
});

const ownPolicy = serviceSuite("overrides", {
  ...base,
  serverSecurityHeaders: true,
  serverResponseHeaders: {
    "content-security-policy": "default-src 'self'",
    "Access-Control-Allow-Origin": "https://b.example",
  },
}, { title: "server-response-headers" });

ownPolicy.rows("server-response-headers replace the security headers of the same name", [
  ["GET /notes?limit=0", {}, 200, [], {
    "Content-Security-Policy": "default-src 'self'",
    "Access-Control-Allow-Origin": "https://b.example",
  }],
  [respond([{ "Content-Type": "text/html" }]), {}, 200, '"done"', {
    "Content-Security-Policy": "default-src 'self'",
  }],
  ["GET /notes?limit=0", { headers: { Origin: "https://a.example" } }, 200, [], {
    "Access-Control-Allow-Origin": "*",
  }],
]);

const healthy = serviceSuite("overrides", {
  ...base,
  serverHealthPath: "/notes/health",
  serverSecurityHeaders: true,
}, { title: "server-health-path" });

const healthHeaders = { "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff" };
const refusedMethod = { Allow: "GET, HEAD", "Cache-Control": "no-store" };

healthy.rows("server-health-path answers without a body", [
  ["GET /notes/health", {}, 200, undefined, healthHeaders],
  ["HEAD /notes/health", {}, 200, undefined, healthHeaders],
  ["GET /notes/health/live", {}, 200, undefined, healthHeaders],
  ["GET /notes/health?a=b", {}, 200, undefined],
  ["GET /notes/health", { headers: { Authorization: "Bearer x" } }, 200, undefined],
  ["POST /notes/health", { body: {} }, 405, undefined, refusedMethod],
  ["DELETE /notes/health/live", {}, 405, undefined, refusedMethod],
  ["GET /notes?limit=0", {}, 200, []],
]);

healthy.test("server-health-path takes no other path", async (api) => {
  for (const path of ["/notes/healthy", "/notes/health/", "/notes/health/ready", "/notes"]) {
    const { status } = await api(`GET ${path}`);
    strictEqual(status, path === "/notes" ? 200 : 404, path);
  }
});

Deno.test("server-health-path returns 503 without a schema cache, and for /live 200", async () => {
  const handler = createHandler({
    dbUri: "postgres://nobody@127.0.0.1:1/none",
    dbSchemas: ["api"],
    serverHealthPath: "/-/health",
    dbChannelEnabled: false,
  });
  try {
    const status = async (path: string) => (await handler(new Request(`http://h${path}`))).status;
    strictEqual(await status("/-/health"), 503);
    strictEqual(await status("/-/health/live"), 200);
  } finally {
    await handler.close();
  }
});

Deno.test("createHandler() reports each request with its route, identifiers and error code", async () => {
  const database = await engines.pg({ name: "settings", roles: ["anon", "writer"] });
  const finished: FinishedRequest[] = [];
  const handler = createHandler({
    ...base,
    dbUri: database.uri,
    jwtSecret: testSecret,
    serverRequestIdHeader: "X-Request-Id",
    observe: (event) => void (event.kind === "request-finished" && finished.push(event)),
  });
  try {
    const send = async (line: string, headers: Readonly<Record<string, string>>) =>
      await (await handler(await buildRequest({ line, origin: "http://h" }, { headers }))).text();
    await send("GET /rpc/setting?name=x", { "X-Request-Id": "1", traceparent, host: "h" });
    await send("GET /nothing", { "X-Request-Id": "2", traceparent: traceparent.toUpperCase() });
    await send("GET /rpc/setting", { "X-Request-Id": "3", Authorization: "Bearer x" });
    deepStrictEqual(
      finished.map((
        { route, requestId, traceId, spanId, code, role, status },
      ) => [route, requestId, traceId, spanId, code, role, status]),
      [
        [
          ...["/rpc/setting", "1", traceparent.slice(3, 35), traceparent.slice(36, 52)],
          ...[null, "anon", 200],
        ],
        ["_unknown", "2", null, null, "SVC205", "anon", 404],
        ["/rpc/setting", "3", null, null, "SVC301", null, 401],
      ],
    );
    for (const { durationMs } of finished) strictEqual(durationMs >= 0, true);
  } finally {
    await handler.close();
    await database.remove();
  }
});
