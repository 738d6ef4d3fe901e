import { deepStrictEqual, match, ok, strictEqual, throws } from "node:assert/strict";
import { createHandler, type Handler, type HandlerOptions } from "../../mod.ts";
import {
  type Admin,
  type AdminRequestInfo,
  createAdmin,
} from "../../src/process/server/create_admin.ts";
import { adminExtension } from "../../src/api/handler/admin_port.ts";
import { engines } from "../support/database/engines.ts";
import { replaceClock } from "../support/timing/replaced_clock.ts";

const adminToken = "a-token-of-at-least-32-characters";

/** A request, the handler's token, and the status of inner paths. */
interface Visit {
  readonly label: string;
  readonly info?: AdminRequestInfo;
  readonly headers?: Readonly<Record<string, string>>;
  readonly token?: string;
  readonly status: 200 | 401 | 403;
}

const trusted: AdminRequestInfo = { isTrusted: true };
const notBoolean = { isTrusted: "true" } as unknown as AdminRequestInfo;
const ofDeno = { remoteAddr: { hostname: "127.0.0.1" } } as AdminRequestInfo;
const allowed = { Host: "admin.example:3001" };
const sent = { "Admin-Token": adminToken };

const visits: readonly Visit[] = [
  { label: "an unknown peer", status: 403 },
  { label: "a runtime's own second argument", info: ofDeno, status: 403 },
  { label: "a peer elsewhere", info: { client: "192.0.2.7" }, status: 403 },
  { label: "a local peer", info: { client: "127.0.0.1" }, status: 200 },
  { label: "a Unix socket", info: { client: null }, status: 200 },
  {
    label: "a local proxy",
    info: { client: "127.0.0.1" },
    headers: { "X-Forwarded-For": "192.0.2.7" },
    status: 403,
  },
  { label: "a trusted request", info: trusted, status: 200 },
  { label: "a trusted request from elsewhere", info: { ...trusted, client: "::2" }, status: 200 },
  { label: "a trusted request through a proxy", info: trusted, headers: { Via: "x" }, status: 200 },
  { label: "a trusted request by an allowed name", info: trusted, headers: allowed, status: 200 },
  { label: "trust by a foreign name", info: trusted, headers: { Host: "e" }, status: 403 },
  { label: "trust that is no boolean", info: notBoolean, status: 403 },
  { label: "a request that is not trusted", info: { isTrusted: false }, status: 403 },
  { label: "a trusted request without the token", info: trusted, token: adminToken, status: 401 },
  { label: "a socket without the token", info: { client: null }, token: adminToken, status: 401 },
  { label: "an unknown peer with the token", headers: sent, token: adminToken, status: 200 },
];

const unreachable: HandlerOptions = {
  dbUri: "postgres://127.0.0.1:1/none",
  dbSchemas: ["api"],
  adminAllowedHosts: ["admin.example"],
};

for (const { label, info, headers, token = null, status } of visits) {
  Deno.test(`createAdmin() responds with ${status} on inner paths to ${label}`, async () => {
    const handler = createHandler({ ...unreachable, adminToken: token });
    const admin = createAdmin(handler);
    try {
      for (const path of ["/config", "/schema_cache", "/console/config"]) {
        const response = await get(admin, path, { info, headers });
        strictEqual(response.status, status, path);
        await response.body?.cancel();
      }
      strictEqual((await get(admin, "/live", { info, headers: {} })).status, 200);
    } finally {
      await handler.close();
    }
  });
}

Deno.test("createAdmin() keeps a trusted request's data from pages of other sites", async () => {
  const handler = createHandler(unreachable);
  const admin = createAdmin(handler);
  try {
    for (const [name, value] of [["Console", ""], ["Origin", "http://evil.example"]] as const) {
      const response = await get(admin, "/console/config", {
        info: trusted,
        headers: { [name]: value },
      });
      deepStrictEqual([response.status, await response.text()], [
        403,
        "Only the console's own page may request this path\n",
      ]);
    }
  } finally {
    await handler.close();
  }
});

Deno.test("createAdmin() shows a handler's state, requests and metrics, and its API", async () => {
  const database = await engines.pg({ name: "tests/runtimes/shop.sql", roles: ["anon", "writer"] });
  const seen: string[] = [];
  const handler = createHandler({
    dbUri: database.uri,
    dbSchemas: ["api"],
    dbAnonRole: "anon",
    observe: ({ kind }) => void seen.push(kind),
  });
  const admin = createAdmin(handler);
  const read = async (path: string) => await (await get(admin, path, { info: trusted })).json();
  try {
    strictEqual((await read("/console/requests")).newest.length, 0);
    strictEqual(await slowStatus(handler, "http://localhost/customers?limit=1"), 200);
    const rows = await read("/console/api/customers?select=id&limit=1");
    deepStrictEqual(rows, [{ id: 1 }]);
    strictEqual((await get(admin, "/ready")).status, 200);
    const metrics = await (await get(admin, "/metrics")).text();
    match(metrics, /^http_server_request_duration_seconds_count\{[^}]*customers[^}]*\} 2\.0$/m);
    const { newest, slow } = await read("/console/requests");
    const targets = newest.map(({ target }: { target: string }) => target);
    deepStrictEqual(targets, ["/customers?limit=1"], "the console's own requests are left out");
    strictEqual(slow.length, 1);
    const state = await read("/console/state");
    deepStrictEqual([state.database.ready, state.api.live], [true, true]);
    ok(state.schemaCache.counts.relations > 0);
    ok(Array.isArray(await read("/console/findings")));
    strictEqual(seen.filter((kind) => kind === "request-finished").length, 1);
  } finally {
    await handler.close();
    await database.remove();
  }
  for (const path of ["/live", "/ready", "/config", "/none"]) {
    strictEqual((await get(admin, path, { info: trusted })).status, 503, path);
  }
});

Deno.test("createAdmin() refuses handlers that cannot have it", async () => {
  const handler = createHandler(unreachable);
  const started = createHandler(unreachable);
  try {
    createAdmin(handler);
    await (await started(new Request("http://localhost/customers"))).body?.cancel();
    const other = Object.assign(() => Promise.resolve(new Response()), handler, {
      [adminExtension]: undefined,
    });
    const refusals: readonly (readonly [handler: Handler, message: string])[] = [
      [handler, "createAdmin: the handler has an admin server"],
      [started, "createAdmin: the handler has started"],
      [other, "createAdmin: expected a handler of createHandler"],
    ];
    for (const [refused, message] of refusals) throws(() => createAdmin(refused), { message });
  } finally {
    await handler.close();
    await started.close();
  }
  throws(() => createAdmin(handler), { message: "createAdmin: the handler was closed" });
});

/** Returns the status of a request during which each look at the clock is a second after the last. */
async function slowStatus(handler: Handler, url: string): Promise<number> {
  let time = 0;
  using _clock = replaceClock(() => time += 1000);
  const response = await handler(new Request(url));
  await response.text();
  return response.status;
}

interface Sent {
  readonly info?: AdminRequestInfo;
  readonly headers?: Readonly<Record<string, string>>;
}

function get(admin: Admin, path: string, { info, headers }: Sent = {}): Promise<Response> {
  const request = new Request(`http://localhost:3001${path}`, {
    headers: { Console: "1", ...headers },
  });
  return admin(request, info);
}
