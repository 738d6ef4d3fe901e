import type { Transaction } from "../../../../../src/database/transaction.ts";
import { deepStrictEqual, match, ok, strictEqual } from "node:assert/strict";
import { adminHandler } from "../../../../../src/process/server/admin.ts";
import { noValues } from "../../../../../src/state/config/load.ts";
import { configSource } from "../../../../../src/state/config/source.ts";
import { consoleRoutes } from "../../../../../src/wings/console/server/console_routes.ts";
import { Recorder } from "../../../../../src/wings/console/server/recorder.ts";
import { type Dialect, pgrstDialect, svcDialect } from "../../../../../src/base/dialect.ts";
import { MetricRegistry } from "../../../../../src/base/observe/metric_registry.ts";
import type { Peer } from "../../../../../src/base/http/admin_route.ts";
import { wingOptions } from "../../../../../src/process/wings.ts";

interface State {
  readonly live: boolean;
  readonly ready: boolean;
}

/** State of the service, and the statuses of `/live` and `/ready` in each dialect. */
const checks: readonly (readonly [state: State, svc: number[], pgrst: number[]])[] = [
  [{ live: true, ready: true }, [200, 200], [200, 200]],
  [{ live: true, ready: false }, [200, 503], [200, 503]],
  [{ live: false, ready: true }, [503, 503], [500, 500]],
  [{ live: false, ready: false }, [503, 503], [500, 503]],
];

type AdminState = Parameters<typeof adminHandler>[0];

const loopback: Peer = { client: "127.0.0.1" };
const elsewhere: Peer = { client: "192.0.2.7" };

function admin(dialect: Dialect, { live, ready }: State): ReturnType<typeof adminHandler> {
  const unexpectedCall = () => {
    throw new Error("probes read nothing else");
  };
  const service = {
    dialect,
    isReady: () => Promise.resolve(ready),
    metricRegistry: { text: unexpectedCall },
  };
  return adminHandler(service as unknown as AdminState, {
    isLive: () => live,
  });
}

for (const [state, svc, pgrst] of checks) {
  for (const [dialect, expected] of [[svcDialect, svc], [pgrstDialect, pgrst]] as const) {
    Deno.test(`adminHandler() of ${dialect.name} responds to probes in ${JSON.stringify(state)}`, async () => {
      const handle = admin(dialect, state);
      const answers = await Promise.all(
        ["/live", "/ready"].map((path) => handle(new Request(`http://admin${path}`), elsewhere)),
      );
      deepStrictEqual(answers.map(({ status }) => status), expected);
      deepStrictEqual(await Promise.all(answers.map((answer) => answer.text())), ["", ""]);
    });
  }
}

const config = configSource({
  wingOptions,
  file: {
    path: "svc.conf",
    text: 'db-uri = "postgres://user:hidden1@h/db?password=hidden2"\ndb-schemas = "api"\n' +
      'jwt-secret = "hidden3 hidden3 hidden3 hidden3 hidden3"\n' +
      '"app.settings.key" = "hidden4"\nadmin-token = "hidden5-hidden5-hidden5-hidden5-hidden5"\n',
  },
  environment: {},
  readFile: () => new Uint8Array(),
}).configure(noValues);

Deno.test("adminHandler() shows the configuration without secrets, in dialects that have the page", async () => {
  for (const [dialect, status] of [[svcDialect, 200], [pgrstDialect, 404]] as const) {
    const service = { dialect, snapshot: { config: { ...config, adminToken: null } } };
    const handle = adminHandler(service as unknown as AdminState, {
      isLive: () => true,
    });
    const response = await handle(new Request("http://localhost/config"), loopback);
    const text = await response.text();
    strictEqual(response.status, status);
    strictEqual(text.includes("hidden"), false, text);
    if (status === 404) continue;
    match(text, /^db-uri = "postgres:\/\/\*\*\*@h\/db\?password=\*\*\*"$/m);
    match(text, /^jwt-secret = "\*\*\*"$/m);
    match(text, /^app\.settings\.key = "\*\*\*"$/m);
    match(text, /^db-pool = 10$/m);
  }
});

const cache = {
  data: { relations: [], relationships: [], routines: [], representations: [], mediaHandlers: [] },
};

const pool = { open: 0, inUse: 0, waiting: 0 };

const main = "main-0123456789ab.js";
const theme = "main-0123456789ab.css";
const files = new Map([main, theme].map((name) => [name, new Uint8Array([59])]));

interface Admin {
  readonly handle: ReturnType<typeof adminHandler>;
  /** Requests that reached the API. */
  readonly apiRequests: Request[];
  /** Moves the clock by milliseconds. */
  readonly pass: (ms: number) => void;
}

/** A service with small content for each path. */
function wholeAdmin(
  dialect: Dialect,
  options: Partial<Pick<typeof config, "adminToken" | "adminSignIn" | "jwtSecret">> = {},
): Admin {
  let now = 0;
  const apiRequests: Request[] = [];
  const transaction = ({ statements }: Transaction) => {
    const reads = statements.some(({ text }) => text.includes("has_schema_privilege"));
    const access = [['{ "roles": [], "objects": [] }']];
    return Promise.resolve({ rows: [reads ? access : [["reader"], ["writer"]]] });
  };
  const service = {
    dialect,
    now: () => now,
    isReady: () => Promise.resolve(true),
    database: { transaction },
    metricRegistry: new MetricRegistry(),
    snapshot: {
      config: {
        ...config,
        adminToken: null,
        ...options,
        dialect,
        adminAllowedHosts: ["Admin.example"],
      },
      cache,
      serverVersion: "PostgreSQL 15.18",
    },
  };
  const state = service as unknown as AdminState;
  const isLive = () => true;
  const handle = adminHandler(state, {
    isLive,
    consoleRoute: consoleRoutes(state, {
      isLive,
      readFiles: () => Promise.resolve(files),
      recorder: new Recorder({
        gauges: () => ({ pool, memory: 1 }),
        now: () => now,
        schedule: () => () => {},
      }),
      handleApi: (request) => {
        apiRequests.push(request);
        return Promise.resolve(new Response("the API"));
      },
      data: new Map(["findings", "access"].map((name) => [`/console/${name}`, () => []])),
      memory: () => 1,
    }),
  });
  return { handle, apiRequests, pass: (ms) => void (now += ms) };
}

/** Requests a path of the admin server. */
async function visit(
  { handle }: Pick<Admin, "handle">,
  path: string,
  { peer = loopback, ...init }: RequestInit & { readonly peer?: Peer } = {},
) {
  const response = await handle(new Request(`http://localhost:3001${path}`, init), peer);
  const { status, headers } = response;
  return { status, headers, text: await response.text() };
}

const openPaths = ["/live", "/ready", "/metrics"];
const pagePaths = ["/", `/console/${main}`, `/console/${theme}`];
const dataPaths = [
  ...["state", "findings", "stats", "requests", "log", "config", "schema", "access?schema=api"],
  ...["roles", "api/film"],
].map((name) => `/console/${name}`);
const innerPaths = [...pagePaths, ...dataPaths, "/config", "/schema_cache"];

const wrongHost = "Open this page by localhost or by an address, or name its host in " +
  "admin-allowed-hosts\n";
const wrongPeer = "Open this page on the machine itself, or set admin-token\n";
const wrongPage = "Only the console's own page may request this path\n";

interface Visit {
  readonly label: string;
  /** Default: `localhost`. Null for a request with the host only in its URL. */
  readonly host?: string | null;
  readonly url?: string;
  /** Default: `127.0.0.1`. */
  readonly client?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
  /** Body of the 403; null if the page is shown. */
  readonly refusal: string | null;
}

const visits: readonly Visit[] = [
  { label: "localhost", refusal: null },
  { label: "localhost, with a port", host: "localhost:3001", refusal: null },
  { label: "localhost in capitals", host: "LOCALHOST", refusal: null },
  { label: "an IPv4 address", host: "127.0.0.1:3001", refusal: null },
  { label: "another address", host: "192.0.2.1:3001", refusal: null },
  { label: "an IPv6 address", host: "[::1]:3001", refusal: null },
  { label: "an allowed name", host: "admin.example:3001", refusal: null },
  { label: "an allowed name in capitals", host: "ADMIN.EXAMPLE", refusal: null },
  { label: "HTTP/2", host: null, url: "http://localhost:3001", refusal: null },
  { label: "HTTP/2, by another name", host: null, url: "http://evil.example", refusal: wrongHost },
  { label: "another name", host: "evil.example", refusal: wrongHost },
  { label: "a name before an allowed one", host: "evil.admin.example", refusal: wrongHost },
  { label: "a name below localhost", host: "evil.localhost", refusal: wrongHost },
  { label: "a name like an address", host: "127.0.0.1.evil.example", refusal: wrongHost },
  { label: "no name", host: "", refusal: wrongHost },
  { label: "a port alone", host: ":3001", refusal: wrongHost },
  { label: "a peer on 127.0.0.2", client: "127.0.0.2", refusal: null },
  { label: "a peer on ::1", client: "::1", refusal: null },
  { label: "a peer on 127.0.0.1 in IPv6", client: "::ffff:127.0.0.1", refusal: null },
  { label: "a peer elsewhere", client: "192.0.2.7", refusal: wrongPeer },
  { label: "a peer elsewhere in IPv6", client: "2001:db8::1", refusal: wrongPeer },
  { label: "a peer elsewhere, mapped", client: "::ffff:192.0.2.7", refusal: wrongPeer },
  { label: "a Unix socket", client: null, refusal: null },
  { label: "a Unix socket, by any name", client: null, host: "evil.example", refusal: null },
  ...[
    ...["Forwarded", "X-Forwarded-For", "x-forwarded-host", "X-Real-IP", "Via", "X-Client-IP"],
    ...["True-Client-IP", "CF-Connecting-IP", "X-Original-Host", "X-Envoy-External-Address"],
  ].flatMap((name) => [
    { label: `${name}`, headers: { [name]: "x" }, refusal: wrongPeer },
    { label: `${name} on a socket`, client: null, headers: { [name]: "x" }, refusal: wrongPeer },
  ]),
];

for (const { label, host = "localhost", url, client = "127.0.0.1", headers, refusal } of visits) {
  Deno.test(`adminHandler() ${refusal === null ? "shows" : "refuses"} inner paths to ${label}`, async () => {
    const { handle } = wholeAdmin(svcDialect);
    const request = (path: string) => {
      const sent = new Headers({ Console: "1", ...headers });
      if (host !== null) sent.set("Host", host);
      return handle(new Request((url ?? "http://localhost") + path, { headers: sent }), { client });
    };
    for (const path of innerPaths) {
      const response = await request(path);
      const text = await response.text();
      strictEqual(response.status, refusal === null ? 200 : 403, path);
      match(response.headers.get("Server")!, /^svc\//);
      if (refusal === null) continue;
      strictEqual(text, refusal);
      strictEqual(response.headers.get("Content-Type"), "text/plain; charset=utf-8");
    }
    for (const path of openPaths) {
      const response = await request(path);
      await response.body?.cancel();
      strictEqual(response.status, 200, path);
    }
    strictEqual((await request("/nothing")).status, 404);
  });
}

Deno.test("adminHandler() of pgrst shows the schema cache to any client, and guards the console", async () => {
  const admin = wholeAdmin(pgrstDialect);
  for (const Host of ["localhost", "evil.example"]) {
    const statusOf = async (path: string) =>
      (await visit(admin, path, { headers: { Host, Console: "1" }, peer: elsewhere })).status;
    strictEqual(await statusOf("/schema_cache"), 200);
    strictEqual(await statusOf("/config"), 404);
    for (const path of [...pagePaths, ...dataPaths]) strictEqual(await statusOf(path), 403, path);
  }
});

/** Headers and method of a request for data by a page, and whether it is refused. */
const pages: readonly (readonly [label: string, init: RequestInit, isRefused: boolean])[] = [
  ["the console", { headers: { Console: "1" } }, false],
  ["the console in a browser", {
    headers: { Console: "1", "Sec-Fetch-Site": "same-origin", Origin: "http://localhost:3001" },
  }, false],
  ["a request without Console", {}, true],
  ["another value of Console", { headers: { Console: "0" } }, true],
  ["a page of another site", { headers: { Console: "1", "Sec-Fetch-Site": "cross-site" } }, true],
  ["a page of the same site", { headers: { Console: "1", "Sec-Fetch-Site": "same-site" } }, true],
  ["an address in the browser's bar", {
    headers: { Console: "1", "Sec-Fetch-Site": "none" },
  }, true],
  ["another origin", { headers: { Console: "1", Origin: "http://evil.example" } }, true],
  ["another port", { headers: { Console: "1", Origin: "http://localhost:3000" } }, true],
  ["an opaque origin", { headers: { Console: "1", Origin: "null" } }, true],
  ["a preflight", { method: "OPTIONS", headers: { Console: "1" } }, true],
  ["a form", { method: "POST", body: new URLSearchParams({ a: "b" }) }, true],
];

for (const [label, init, isRefused] of pages) {
  Deno.test(`adminHandler() ${isRefused ? "refuses" : "sends"} data to ${label}`, async () => {
    const admin = wholeAdmin(svcDialect);
    for (const path of dataPaths) {
      const { status, headers, text } = await visit(admin, path, init);
      strictEqual(status, isRefused ? 403 : 200, path);
      if (isRefused) strictEqual(text, wrongPage);
      deepStrictEqual([...headers.keys()].filter((name) => /^access-/.test(name)), []);
    }
    strictEqual(admin.apiRequests.length, isRefused ? 0 : 1);
  });
}

const adminToken = "an-admin-token-of-at-least-32-characters";

Deno.test("adminHandler() asks for admin-token, whatever the peer", async () => {
  for (const peer of [loopback, elsewhere, { client: null }]) {
    const admin = wholeAdmin(svcDialect, { adminToken });
    const statusOf = async (path: string, token: string | null) => {
      const headers = {
        ...{ "Console": "1", "X-Forwarded-For": "::1" },
        ...(token === null ? {} : { "Admin-Token": token }),
      };
      const { status, text } = await visit(admin, path, { headers, peer });
      ok(!text.includes(adminToken), path);
      return status;
    };
    for (const path of pagePaths) strictEqual(await statusOf(path, null), 200, path);
    for (const path of [...dataPaths, "/config", "/schema_cache"]) {
      strictEqual(await statusOf(path, null), 401, path);
      strictEqual(await statusOf(path, adminToken), 200, path);
    }
    strictEqual(await statusOf("/console/state", `${adminToken}x`), 401);
  }
});

Deno.test("adminHandler() refuses wrong tokens of a peer for a minute after ten", async () => {
  const admin = wholeAdmin(svcDialect, { adminToken });
  const statusOf = async (token: string, peer: Peer) => {
    const headers = { "Console": "1", "Admin-Token": token };
    return (await visit(admin, "/console/state", { headers, peer })).status;
  };
  for (let time = 0; time < 10; time++) strictEqual(await statusOf("wrong", elsewhere), 401);
  strictEqual(await statusOf("wrong", elsewhere), 429);
  strictEqual(await statusOf("wrong", loopback), 401);
  admin.pass(60_000);
  strictEqual(await statusOf("wrong", elsewhere), 401);
  for (let time = 0; time < 10; time++) await statusOf("wrong", elsewhere);
  strictEqual(await statusOf("wrong", elsewhere), 429);
  strictEqual(await statusOf(adminToken, elsewhere), 200);
  const statuses = await Promise.all(
    Array.from({ length: 30 }, () => statusOf("wrong", elsewhere)),
  );
  strictEqual(statuses.filter((status) => status === 401).length, 10);
});

/** Requests for a token: options, body, and the status with the claims of the token. */
const secret = new TextEncoder().encode("a-secret-of-at-least-32-characters-x");
const signIns: readonly (readonly [
  options: { readonly adminSignIn: boolean; readonly jwtSecret: Uint8Array<ArrayBuffer> | null },
  body: string,
  answer: readonly [status: number, claims?: object],
])[] = [
  [{ adminSignIn: false, jwtSecret: secret }, '{"role":"writer"}', [403]],
  [{ adminSignIn: true, jwtSecret: null }, '{"role":"writer"}', [400]],
  [{ adminSignIn: true, jwtSecret: secret }, "{}", [400]],
  [{ adminSignIn: true, jwtSecret: secret }, '{"role":"postgres"}', [400]],
  [{ adminSignIn: true, jwtSecret: secret }, "nonsense", [400]],
  [{ adminSignIn: true, jwtSecret: secret }, `{"role":"${"x".repeat(10_000)}"}`, [403]],
  [
    { adminSignIn: true, jwtSecret: secret },
    '{"role":"writer","claims":{"sub":"1","role":"other","exp":1}}',
    [200, { sub: "1", role: "writer", iat: 0, exp: 3600 }],
  ],
];
for (const [options, body, [status, claims]] of signIns) {
  Deno.test(
    `adminHandler() answers ${status} to ${
      body.slice(0, 40)
    } with admin-sign-in ${options.adminSignIn} and ${
      options.jwtSecret === null ? "no" : "a"
    } secret`,
    async () => {
      const headers = { Console: "1", "Content-Length": String(body.length) };
      const init = { method: "POST", headers, body };
      const { status: actual, text } = await visit(
        wholeAdmin(svcDialect, options),
        "/console/token",
        init,
      );
      strictEqual(actual, status, text);
      if (claims === undefined) return;
      const payload = JSON.parse(text).token.split(".")[1];
      deepStrictEqual(JSON.parse(atob(payload.replaceAll("-", "+").replaceAll("_", "/"))), claims);
    },
  );
}

Deno.test("adminHandler() makes no token for another page, or for a peer elsewhere", async () => {
  const admin = wholeAdmin(svcDialect, { adminSignIn: true, jwtSecret: secret });
  const rows = [[loopback, {}], [elsewhere, { Console: "1" }], [loopback, {
    "Console": "1",
    "Sec-Fetch-Site": "cross-site",
  }]] as const;
  for (const [peer, own] of rows) {
    const body = '{"role":"writer"}';
    const headers = { ...own, "Content-Length": String(body.length) };
    const { status } = await visit(admin, "/console/token", {
      ...{ method: "POST", headers, body, peer },
    });
    strictEqual(status, 403, JSON.stringify(own));
  }
});

Deno.test("adminHandler() sends the console with a strict policy", async () => {
  const admin = wholeAdmin(svcDialect);
  const { headers, text } = await visit(admin, "/");
  strictEqual(
    headers.get("Content-Security-Policy"),
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
      "connect-src 'self'; base-uri 'none'; form-action 'none'; " +
      "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
  );
  strictEqual(headers.get("X-Content-Type-Options"), "nosniff");
  strictEqual(headers.get("Referrer-Policy"), "no-referrer");
  strictEqual(headers.get("Cross-Origin-Opener-Policy"), "same-origin");
  const links = Array.from(text.matchAll(/(?:src|href)="([^"]*)"/g), ([, link]) => link!);
  deepStrictEqual(links.slice(1), [`/console/${theme}`, `/console/${main}`]);
  const script = await visit(admin, `/console/${main}`);
  strictEqual(script.headers.get("Cache-Control"), "public, max-age=31536000, immutable");
  strictEqual(script.headers.get("Content-Type"), "text/javascript; charset=utf-8");
  strictEqual(script.text, ";");
  strictEqual((await visit(admin, "/console/main-00.js")).status, 404);
});

for (const method of ["TRACE", "TRACK", "CONNECT"]) {
  Deno.test(`adminHandler() refuses ${method} below /console/api/`, async () => {
    const { handle } = wholeAdmin(svcDialect);
    const request = new Request("http://localhost:3001/console/api/film", {
      headers: { Host: "localhost:3001", Console: "1" },
    });
    // Servers make such requests, the constructor does not.
    Object.defineProperty(request, "method", { value: method });
    const response = await handle(request, { client: "127.0.0.1" });
    strictEqual(response.status, 405);
    strictEqual(await response.text(), "Unsupported HTTP method\n");
  });
}

Deno.test("adminHandler() keeps /config and /schema_cache from pages of other sites", async () => {
  for (const path of ["/config", "/schema_cache"]) {
    const { headers } = await visit(wholeAdmin(svcDialect), path);
    strictEqual(headers.get("Cross-Origin-Resource-Policy"), "same-origin");
    strictEqual(headers.get("X-Content-Type-Options"), "nosniff");
  }
});

Deno.test("adminHandler() passes requests below /console/api/ on as they are", async () => {
  const admin = wholeAdmin(svcDialect);
  const target = "/film?select=%22a%20b%22&a=eq./..%2F";
  const { text } = await visit(admin, `/console/api${target}`, {
    method: "POST",
    body: "[1]",
    headers: {
      Host: "localhost:3001",
      Console: "1",
      "Admin-Token": "x",
      Authorization: "Bearer t",
      Cookie: "token=other",
      Origin: "http://localhost:3001",
      "Sec-Fetch-Site": "same-origin",
      Prefer: "tx=rollback",
      "Content-Type": "application/json",
    },
  });
  strictEqual(text, "the API");
  const [passed] = admin.apiRequests;
  strictEqual(passed!.url, `http://localhost:3001${target}`);
  strictEqual(passed!.method, "POST");
  strictEqual(await passed!.text(), "[1]");
  deepStrictEqual(Object.fromEntries(passed!.headers), {
    authorization: "Bearer t",
    "content-type": "application/json",
    host: "localhost:3001",
    prefer: "tx=rollback",
  });
});

Deno.test("adminHandler() has no console where admin-console-enabled is off", async () => {
  const metricRegistry = new MetricRegistry();
  const snapshot = { config: { ...config, adminToken: null }, cache };
  const service = { dialect: svcDialect, metricRegistry, snapshot };
  const handle = adminHandler(service as unknown as AdminState, {
    isLive: () => true,
  });
  for (const path of [...pagePaths, ...dataPaths]) {
    const { status } = await visit({ handle }, path, { headers: { Console: "1" } });
    strictEqual(status, 404, path);
  }
});

Deno.test("adminHandler() sends no secret of the configuration", async () => {
  const headers = { "Console": "1", "Admin-Token": adminToken };
  for (const path of [...dataPaths, "/config", "/schema_cache"]) {
    const { text } = await visit(wholeAdmin(svcDialect, { adminToken }), path, { headers });
    ok(!text.includes("hidden") && !text.includes(adminToken), text);
  }
});
