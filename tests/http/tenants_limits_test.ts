import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { eventually } from "../support/eventually.ts";
import { holdLock } from "../support/held_lock.ts";
import { withClient } from "../support/postgres_client.ts";
import { type Keys, openTenants, tenantDatabases } from "../support/tenants.ts";
import { testSecret } from "../support/token.ts";

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

  await t.step(
    "tenants-db-pool bounds the connections of all, and idle ones give way",
    async () => {
      await using opened = await openTenants({
        ...common,
        "tenants-db-pool": 2,
        "tenant-db-pool": 2,
      }, files);
      const metrics = () => opened.tenants.admin({ isLive: () => true, processMetrics: () => "" });
      const open = async () => {
        const peer = { client: null };
        const response = await metrics()(new Request("http://localhost/metrics"), peer);
        return /^svc_tenant_connections (\d+)/m.exec(await response.text())?.[1];
      };
      for (let round = 0; round < 3; round++) {
        for (const name of ["acme", "beta", "gamma"]) {
          const responses = await Promise.all(
            [1, 2, 3].map(() => opened.send(`GET http://service/${name}/facts`)),
          );
          for (const response of responses) {
            strictEqual(response.status, 200);
            await response.body?.cancel();
          }
          ok(Number(await open()) <= 2);
        }
      }
      const all = ["acme", "beta", "gamma"].flatMap((name) => Array<string>(8).fill(name));
      const statuses = await Promise.all(all.map(async (name) => {
        const response = await opened.send(`GET http://service/${name}/facts`);
        await response.body?.cancel();
        return response.status;
      }));
      deepStrictEqual(statuses, all.map(() => 200));
    },
  );

  await t.step("a tenant on PGlite and one on a server share a process", async () => {
    const init = new URL("../../examples/tenants/shop.sql", import.meta.url).pathname;
    await using opened = await openTenants(common, {
      acme: files["acme"]!,
      embedded: {
        "db-uri": "pglite://memory",
        "db-embedded-init": init,
        "db-anon-role": "web_anon",
        "app.settings.shop": "E",
      },
    });
    // A request waits for 5 seconds, in which a busy machine may not start an embedded database.
    await eventually("the embedded database", async () => {
      const response = await opened.send("GET http://service/embedded/rpc/shop");
      return await response.json() === "E";
    });
    const facts = await opened.send("GET http://service/acme/facts");
    strictEqual(facts.status, 200);
    await facts.body?.cancel();
  });
});

Deno.test("tenants of a control database", async (t) => {
  await using databases = await tenantDatabases(["control", "acme", "beta"]);
  const uri = (name: string) => databases.uris.get(name)!;
  const control = databases.superuserUris.get("control")!;
  const run = (sql: string) => withClient(control, (client) => client.query(sql).then(() => {}));
  const put = (name: string, config: unknown, enabled = true) => {
    const text = JSON.stringify(config).replaceAll("'", "''");
    return run(
      `insert into control.tenants values ('${name}', '${text}', ${enabled})
      on conflict (name) do update set config = excluded.config, enabled = excluded.enabled`,
    );
  };
  await run(`
    create schema control;
    create table control.tenants (name text primary key, config jsonb, enabled boolean);
    grant usage on schema control to authenticator;
    grant select on control.tenants to authenticator;
    create function control.listed() returns setof control.tenants language sql stable
      security definer as 'select * from control.tenants'`);
  const options: Keys = { ...common, "db-uri": uri("control"), "db-channel-enabled": true };
  await put("acme", { "db-uri": uri("acme"), "jwt-secret": testSecret });
  await put("off", { "db-uri": uri("beta") }, false);
  await put("../evil", { "db-uri": uri("beta") });
  await put("reader", { "db-uri": uri("beta"), "jwt-secret": "@/etc/hostname" });

  for (const tenants of ["control.tenants", "control.listed"]) {
    await t.step(tenants, async () => {
      await using opened = await openTenants({ ...options, tenants }, {});
      const status = async (name: string) => {
        const response = await opened.send(`GET http://service/${name}/facts`);
        await response.body?.cancel();
        return response.status;
      };
      deepStrictEqual(
        await Promise.all(["acme", "off", "../evil", "reader", "nobody"].map(status)),
        [200, 404, 404, 503, 404],
      );
    });
  }

  await t.step("a notification reads the relation again", async () => {
    await using opened = await openTenants({ ...options, tenants: "control.tenants" }, {});
    const status = async (name: string) => {
      const response = await opened.send(`GET http://service/${name}/facts`);
      await response.body?.cancel();
      return response.status;
    };
    opened.tenants.start();
    await eventually(
      "listening",
      () => opened.events.some(({ kind, tenant }) => kind === "listener-connected" && !tenant),
    );
    strictEqual(await status("acme"), 200);
    strictEqual(await status("beta"), 404);
    await put("beta", { "db-uri": uri("beta") });
    await run("delete from control.tenants where name = 'acme'");
    await run("notify svc, 'reload tenants'");
    await eventually("the new tenant", async () => await status("beta") === 200);
    strictEqual(await status("acme"), 404);
    const reasons = opened.events.flatMap((event) =>
      event.kind === "tenant-closed" ? [`${event.tenant} ${event.reason}`] : []
    );
    deepStrictEqual(reasons, ["acme removed"]);
  });
});
