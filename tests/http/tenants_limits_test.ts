import { deepStrictEqual, ok, rejects, strictEqual } from "node:assert/strict";
import { holdLock } from "../support/database/held_lock.ts";
import { type Keys, openTenants, tenantDatabases } from "../support/handler/tenants.ts";

const common: Keys = {
  "db-schemas": "api",
  "db-anon-role": "anon",
  "db-config": false,
  "tenant-by": "path",
};

Deno.test("limits of tenants", async (t) => {
  await using databases = await tenantDatabases(["acme", "beta", "gamma"]);
  const uri = (name: string) => databases.uris.get(name)!;
  const files = Object.fromEntries(
    ["acme", "beta", "gamma"].map((name) => [name, { "db-uri": uri(name) }]),
  );

  await t.step("tenant-max-requests refuses one tenant's requests only", async () => {
    await using opened = await openTenants({ ...common, "tenant-max-requests": 2 }, files);
    await (await opened.send("GET http://service/acme/facts")).body?.cancel();
    await using lock = await holdLock(databases.superuserUris.get("acme")!);
    const waiting = [1, 2].map(() => opened.send("GET http://service/acme/rpc/wait"));
    await lock.awaited(2);
    const refused = await opened.send("GET http://service/acme/facts");
    deepStrictEqual([refused.status, (await refused.json()).code], [503, "SVC135"]);
    strictEqual(refused.headers.get("retry-after"), "1");
    const other = await opened.send("GET http://service/beta/facts");
    strictEqual(other.status, 200);
    await other.body?.cancel();
    await lock.release();
    for (const answer of waiting) strictEqual(await (await answer).json(), "done");
  });

  await t.step("each tenant has its share of tenants-db-pool, and places come free", async () => {
    await using opened = await openTenants({
      ...common,
      "tenants-db-pool": 4,
      "tenants-max-loaded": 2,
    }, files);
    const routes = opened.tenants.adminRoutes({ isLive: () => true, processMetrics: () => "" });
    const open = async () => {
      const response = await routes.get("/metrics")!.respond(
        new Request("http://localhost/metrics"),
        {
          client: null,
        },
      );
      return Number(/^svc_tenant_connections (\d+)/m.exec(await response.text())?.[1]);
    };
    const all = ["acme", "beta", "gamma"].flatMap((name) => Array<string>(8).fill(name));
    const statuses = await Promise.all(all.map(async (name) => {
      const response = await opened.send(`GET http://service/${name}/facts`);
      await response.body?.cancel();
      ok(await open() <= 4);
      return response.status;
    }));
    deepStrictEqual(statuses, all.map(() => 200));
  });

  await t.step("a share of one connection is refused", async () => {
    await rejects(openTenants({ ...common, "tenants-db-pool": 39 }, files), {
      message: /tenants-db-pool: expected at least 40, two for each loaded tenant$/,
    });
  });

  await t.step("an embedded database beside other tenants is refused", async () => {
    await using opened = await openTenants(common, {
      acme: files["acme"]!,
      embedded: { "db-uri": "pglite://memory" },
    });
    const refused = await opened.send("GET http://service/embedded/facts");
    deepStrictEqual([refused.status, (await refused.json()).code], [503, "SVC317"]);
    const reasons = opened.events.flatMap((event) =>
      event.kind === "tenant-failed" ? [event.reason] : []
    );
    deepStrictEqual(reasons, ["db-uri: an embedded database cannot serve a tenant beside others"]);
  });
});
