/** No key of `api-keys` is in what operators and clients read, whether it is listed or not. */
import { deepStrictEqual, match, ok, strictEqual } from "node:assert/strict";
import { createClient } from "@supabase/supabase-js";
import { deferred } from "../../src/base/lib/deferred.ts";
import { hashOf } from "../../src/state/auth/api_keys.ts";
import { engines } from "../support/database/engines.ts";
import { type ServiceProcess, startService } from "../support/server/process.ts";
import { testSecret } from "../support/handler/token.ts";

const listed = "sb_secret_cccccccccccccccccccccc_dddddddd";
const unlisted = "sb_secret_eeeeeeeeeeeeeeeeeeeeee_ffffffff";
const part = /sb_secret_[ce]{5}|[df]{8}/;

/** Starts a service that logs as much as it can. */
async function openService(): Promise<ServiceProcess & { remove(): Promise<void> }> {
  const database = await engines.pg({ name: "serving", roles: ["web_anon"] });
  const service = await startService({
    "db-uri": database.uri,
    "db-schemas": "api",
    "db-anon-role": "web_anon",
    "jwt-secret": testSecret,
    "api-keys": JSON.stringify([{ name: "web", sha256: await hashOf(listed), role: "web_anon" }]),
    "admin-server-host": "127.0.0.1",
    "client-error-verbosity": "advise",
    "log-level": "debug",
    "log-format": "json",
    "log-query": true,
    "server-path-prefix": "/rest/v1",
    "live-path": "/live",
    "mcp-path": "/mcp",
  });
  await service.listening();
  return { ...service, remove: () => database.remove() };
}

const consolePaths = ["config", "state", "requests", "log", "stats"].map((name) =>
  `/console/${name}`
);

Deno.test("no log, error, metric and page of the console has an API key", async () => {
  await using service = await openService();
  const texts: string[] = [];
  const statuses: number[] = [];
  for (const key of [listed, unlisted]) {
    const forms: readonly Record<string, string>[] = [
      { apikey: key },
      { Authorization: `Bearer ${key}` },
    ];
    for (const headers of forms) {
      for (const path of ["items?limit=1", "nothing", "items?id=eq.x"]) {
        const response = await service.fetch(`GET /rest/v1/${path}`, { headers });
        statuses.push(response.status);
        texts.push(JSON.stringify([...response.headers]), await response.text());
      }
    }
  }
  // What a client writes into the URL, the answer may name. Nothing else does.
  for (const key of [listed, unlisted, `svc_${"d".repeat(43)}`]) {
    for (
      const line of [
        `GET /rest/v1/items?limit=1&apikey=${key}`,
        `GET /rest/v1/items?id=eq.${key}`,
        `GET /rest/v1/${key}`,
        `POST /rest/v1/rpc/${key}`,
        `GET /realtime/v1/websocket?apikey=${key}&vsn=1.0.0`,
        `GET /rest/v1/live/items?apikey=${key}`,
        `GET /rest/v1/live/v1/shape?table=items&secret=${key}`,
        `GET /rest/v1/live/v1/shape?table=items&offset=-1&where=id%20%3D%20${key}`,
      ]
    ) {
      const headers = { apikey: key, Authorization: `Basic ${btoa(`${key}:`)}` };
      await (await service.fetch(line, { headers })).body?.cancel();
    }
    const batch = [{ method: "GET", path: "/items", headers: { apikey: key } }];
    await (await service.fetch("POST /rest/v1/", { headers: { apikey: key }, body: batch })).text();
    await (await service.fetch("POST /rest/v1/mcp", { headers: { apikey: key }, body: batch }))
      .text();
    await (await fetch(`${service.adminOrigin}/config?apikey=${key}`, { headers: { apikey: key } }))
      .body?.cancel();
  }
  deepStrictEqual(statuses, [...[200, 404, 400], ...[200, 404, 400], ...Array(6).fill(401)]);
  for (const path of ["/metrics", "/config", ...consolePaths]) {
    const response = await fetch(service.adminOrigin + path, { headers: { Console: "1" } });
    strictEqual(response.status, 200, path);
    texts.push(await response.text());
  }
  ok(texts.some((text) => text.includes('svc_api_key_requests_total{key="web"}')));
  strictEqual((await service.stop()).code, 0);
  const logged = [...service.stdout.all, ...service.stderr.all];
  ok(logged.some((line) => line.includes('"web"')));
  for (const text of [...texts, ...logged]) strictEqual(part.test(text), false, text);
  await service.remove();
});

Deno.test({
  name: "supabase-js reads with a key, and learns that there is no channel",
  // The client keeps timers for its socket.
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    await using service = await openService();
    const client = createClient(service.origin, listed, { db: { schema: "api" } });
    const { data } = await client.from("items").select("id").eq("id", 1);
    deepStrictEqual(data, [{ id: 1 }]);
    const refused = deferred<readonly [string, Error | undefined]>();
    const channel = client.channel("items").subscribe((status, error) =>
      refused.resolve([status, error])
    );
    const [status] = await refused.promise;
    match(status, /^(?:CHANNEL_ERROR|CLOSED)$/);
    await client.removeChannel(channel);
    client.realtime.disconnect();
    strictEqual((await service.stop()).code, 0);
    await service.remove();
  },
});
