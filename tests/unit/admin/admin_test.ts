import { deepStrictEqual, match, strictEqual } from "node:assert/strict";
import { adminHandler } from "../../../src/admin/admin.ts";
import type { Peer } from "../../../src/admin/admin_access.ts";
import { noValues } from "../../../src/config/load.ts";
import { configSource } from "../../../src/config/source.ts";
import { type Dialect, pgrstDialect, svcDialect } from "../../../src/dialect.ts";
import { MetricRegistry } from "../../../src/observe/metric_registry.ts";
import type { Metrics } from "../../../src/observe/metrics.ts";

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

type AdminService = Parameters<typeof adminHandler>[0];

const loopback: Peer = { client: "127.0.0.1" };
const elsewhere: Peer = { client: "192.0.2.7" };

function admin(dialect: Dialect, { live, ready }: State): ReturnType<typeof adminHandler> {
  const unexpectedCall = () => {
    throw new Error("probes read nothing else");
  };
  const service = { dialect, isReady: () => Promise.resolve(ready), metrics: unexpectedCall };
  return adminHandler(service as unknown as AdminService, {
    isLive: () => live,
    readAsset: unexpectedCall,
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
  file: {
    path: "svc.conf",
    text: 'db-uri = "postgres://user:hidden1@h/db?password=hidden2"\ndb-schemas = "api"\n' +
      'jwt-secret = "hidden3 hidden3 hidden3 hidden3 hidden3"\n' +
      '"app.settings.key" = "hidden4"\n',
  },
  environment: {},
  readFile: () => new Uint8Array(),
}).configure(noValues);

Deno.test("adminHandler() shows the configuration without secrets, in dialects that have the page", async () => {
  for (const [dialect, status] of [[svcDialect, 200], [pgrstDialect, 404]] as const) {
    const service = { dialect, snapshot: { config } };
    const handle = adminHandler(service as unknown as AdminService, {
      isLive: () => true,
      readAsset: () => Promise.reject(new Error("not requested")),
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
  data: {
    relations: [],
    relationships: [],
    routines: [],
    representations: [],
    mediaHandlers: [],
  },
};

const noMetrics: Metrics = {
  build: { version: "1.2.3", dialect: "svc", postgres: "15.18" },
  queueSeconds: null,
  schemaCacheQuerySeconds: null,
  schemaCacheLoads: { success: 0, fail: 0 },
  pool: { max: 0, open: 0, inUse: 0, waiting: 0, timeouts: 0 },
  jwtCache: { lookups: 0, hits: 0, evictions: 0 },
};

/** A service with small content for each path. */
function wholeAdmin(dialect: Dialect): ReturnType<typeof adminHandler> {
  const service = {
    dialect,
    isReady: () => Promise.resolve(true),
    metrics: () => noMetrics,
    metricRegistry: new MetricRegistry(),
    snapshot: { config: { ...config, dialect, adminAllowedHosts: ["Admin.example"] }, cache },
  };
  return adminHandler(service as unknown as AdminService, {
    isLive: () => true,
    readAsset: () => Promise.resolve(new Uint8Array()),
  });
}

const openPaths = ["/live", "/ready", "/metrics"];
const pagePaths = ["/", "/page.js", "/page.css", "/swagger-ui.css", "/swagger-ui-bundle.js"];
const innerPaths = [...pagePaths, "/config", "/schema_cache"];

const wrongHost = "Open this page by localhost or by an address, or name its host in " +
  "admin-allowed-hosts\n";
const wrongPeer = "Open this page on the machine itself\n";

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
  ...["Forwarded", "X-Forwarded-For", "x-forwarded-host", "X-Real-IP", "Via"].flatMap((name) => [
    { label: `${name}`, headers: { [name]: "x" }, refusal: wrongPeer },
    { label: `${name} on a socket`, client: null, headers: { [name]: "x" }, refusal: wrongPeer },
  ]),
];

for (const { label, host = "localhost", url, client = "127.0.0.1", headers, refusal } of visits) {
  Deno.test(`adminHandler() ${refusal === null ? "shows" : "refuses"} inner paths to ${label}`, async () => {
    const handle = wholeAdmin(svcDialect);
    const visit = (path: string) => {
      const sent = new Headers(headers);
      if (host !== null) sent.set("Host", host);
      return handle(new Request((url ?? "http://localhost") + path, { headers: sent }), { client });
    };
    for (const path of innerPaths) {
      const response = await visit(path);
      const text = await response.text();
      strictEqual(response.status, refusal === null ? 200 : 403, path);
      match(response.headers.get("Server")!, /^svc\//);
      if (refusal === null) continue;
      strictEqual(text, refusal);
      strictEqual(response.headers.get("Content-Type"), "text/plain; charset=utf-8");
    }
    for (const path of openPaths) {
      const response = await visit(path);
      await response.body?.cancel();
      strictEqual(response.status, 200, path);
    }
    strictEqual((await visit("/nothing")).status, 404);
  });
}

Deno.test("adminHandler() of pgrst shows the schema cache to any client, and guards the page", async () => {
  const handle = wholeAdmin(pgrstDialect);
  for (const host of ["localhost", "evil.example"]) {
    const visit = async (path: string) => {
      const request = new Request(`http://${host}${path}`, { headers: { Host: host } });
      const response = await handle(request, elsewhere);
      await response.body?.cancel();
      return response.status;
    };
    strictEqual(await visit("/schema_cache"), 200);
    strictEqual(await visit("/config"), 404);
    for (const path of pagePaths) strictEqual(await visit(path), 403, path);
  }
});
