import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { signToken, testSecret } from "../support/handler/token.ts";
import { type Keys, openTenants, tenantDatabases } from "../support/handler/tenants.ts";
import { errorBody } from "../support/handler/rows.ts";

const other = "anothersecretanothersecretanothersecret";
const common: Keys = { "db-schemas": "api", "db-anon-role": "anon", "db-config": false };

/** Returns the status, and the body as JSON. */
async function answer(response: Promise<Response>): Promise<readonly [number, unknown]> {
  const { status } = await response;
  return [status, await (await response).json()];
}

const noTenant = [404, errorBody("SVC316 | No such tenant")] as const;

Deno.test("tenants", async (t) => {
  await using databases = await tenantDatabases(["acme", "beta", "gamma"]);
  const uri = (name: string) => databases.uris.get(name)!;
  const factOf = (name: string) => [{ id: 1, tenant: new URL(uri(name)).pathname.slice(1) }];
  const files: Record<string, Keys> = {
    acme: { "db-uri": uri("acme"), "jwt-secret": testSecret },
    beta: { "db-uri": uri("beta"), "jwt-secret": other },
  };

  await t.step("by host finds the tenant of a host name only", async (t) => {
    await using opened = await openTenants({
      ...common,
      "tenant-host-pattern": "{tenant}.api.example.com",
      "server-trusted-proxies": "192.0.2.7",
    }, files);
    const facts = (host: string, headers: Record<string, string> = {}, client = "198.51.100.9") =>
      answer(opened.send(`GET http://${host}/facts`, {
        headers: { host, ...headers },
        info: { client },
      }));
    for (
      const host of ["acme.api.example.com", "ACME.Api.Example.Com:3000", "acme.api.example.com."]
    ) {
      await t.step(host, async () => deepStrictEqual(await facts(host), [200, factOf("acme")]));
    }
    const strangers = [
      "api.example.com",
      ".api.example.com",
      "nobody.api.example.com",
      "x.acme.api.example.com",
      "acme.api.example.com.evil.example",
      "acme.api.example.com, beta.api.example.com",
      "..acme.api.example.com",
      "%61cme.api.example.com",
      "acme%00.api.example.com",
      "_acme.api.example.com",
    ];
    for (const host of strangers) {
      await t.step(`stranger ${host}`, async () => {
        const response = await opened.send("GET http://service/facts", { headers: { host } });
        ok([400, 404].includes(response.status));
        await response.body?.cancel();
      });
    }
    await t.step("X-Forwarded-Host counts from trusted peers only", async () => {
      const forwarded = { "x-forwarded-host": "beta.api.example.com" };
      deepStrictEqual(await facts("acme.api.example.com", forwarded), [200, factOf("acme")]);
      deepStrictEqual(
        await facts("acme.api.example.com", forwarded, "192.0.2.7"),
        [200, factOf("beta")],
      );
      const several = { "x-forwarded-host": "acme.api.example.com, beta.api.example.com" };
      deepStrictEqual(await facts("acme.api.example.com", several, "192.0.2.7"), noTenant);
    });
    await t.step("a token of one tenant is nothing to another", async () => {
      const token = await signToken({ role: "writer" });
      const authorization = `Bearer ${token}`;
      strictEqual((await facts("acme.api.example.com", { authorization }))[0], 200);
      strictEqual((await facts("beta.api.example.com", { authorization }))[0], 401);
    });
  });

  await t.step("by path cuts the tenant off, and puts it before addresses", async (t) => {
    await using opened = await openTenants({
      ...common,
      "tenant-by": "path",
      "server-health-path": "/health/api",
    }, files);
    const facts = (path: string) => answer(opened.send(`GET http://service${path}`));
    await t.step("finds its own data", async () => {
      deepStrictEqual(await facts("/acme/facts"), [200, factOf("acme")]);
      deepStrictEqual(await facts("/beta/facts?id=eq.1"), [200, factOf("beta")]);
    });
    const tricks = ["/", "//acme/facts", "/ACME/facts", "/%61cme/facts", "/acme%2ffacts", "/facts"];
    for (const path of [...tricks, "/acme;x/facts", "/.conf/facts", "/nobody/facts"]) {
      await t.step(path, async () => deepStrictEqual(await facts(path), noTenant));
    }
    for (const path of ["/acme//facts", "/acme/%2e%2e%2fbeta/facts", "/acme/beta/facts"]) {
      await t.step(
        `${path} stays in its tenant`,
        async () => strictEqual((await facts(path))[0], 404),
      );
    }
    await t.step("Location and Content-Location get the tenant back", async () => {
      const created = await opened.send("POST http://service/acme/facts", {
        body: '{"id": 2}',
        headers: { "Content-Type": "application/json", "Prefer": "return=headers-only" },
      });
      deepStrictEqual([created.status, created.headers.get("location")], [
        201,
        "/acme/facts?id=eq.2",
      ]);
      const read = await opened.send("GET http://service/acme/facts?id=eq.2");
      strictEqual(read.headers.get("content-location"), "/acme/facts?id=eq.2");
      await read.body?.cancel();
      strictEqual((await opened.send("DELETE http://service/acme/facts?id=eq.2")).status, 204);
      const moved = await opened.send("POST http://service/acme/rpc/redirected");
      strictEqual(moved.headers.get("location"), "/acme/facts?id=eq.1");
    });
    await t.step("OpenAPI has the tenant in its address", async () => {
      const [, document] = await answer(opened.send("GET http://service/acme/"));
      const { servers, basePath } = document as { servers?: unknown; basePath?: unknown };
      ok(JSON.stringify(servers ?? basePath).includes("/acme"));
    });
    await t.step("the health path stands before the tenant", async () => {
      strictEqual((await opened.send("GET http://service/health/api")).status, 200);
      strictEqual((await opened.send("GET http://service/health/api/live")).status, 200);
    });
    await t.step("the log names the tenant", () => {
      const tenants = opened.events.map(({ tenant }) => tenant ?? null);
      ok(tenants.includes("acme") && tenants.includes("beta"));
    });
  });

  await t.step("tenant-claim refuses tokens of other tenants before anything runs", async () => {
    const keys = { "jwt-secret": testSecret };
    await using opened = await openTenants({
      ...common,
      ...keys,
      "tenant-by": "path",
      "tenant-claim": "$.tenant",
    }, { acme: { "db-uri": uri("acme") }, beta: { "db-uri": uri("beta") } });
    const status = async (tenant: string, claims: Record<string, unknown>) => {
      const Authorization = `Bearer ${await signToken({ role: "writer", ...claims })}`;
      const response = await opened.send(`DELETE http://service/${tenant}/facts?id=eq.7`, {
        headers: { Authorization },
      });
      await response.body?.cancel();
      return response.status;
    };
    strictEqual(await status("acme", { tenant: "acme" }), 204);
    strictEqual(await status("beta", { tenant: "acme" }), 403);
    strictEqual(await status("beta", {}), 403);
    strictEqual(await status("beta", { tenant: ["beta"] }), 403);
    // The second time, the token is in the cache.
    strictEqual(await status("beta", { tenant: "acme" }), 403);
  });

  await t.step("one tenant's failure is its own", async (t) => {
    await using opened = await openTenants({ ...common, "tenant-by": "path" }, {
      acme: files["acme"]!,
      broken: { "db-uri": uri("beta"), "db-pool-size": 3 },
      greedy: { "db-uri": uri("beta"), "server-port": 80 },
      logging: { "db-uri": uri("beta"), "log-level": "info" },
      absent: { "db-uri": "postgres://nobody:nothing@127.0.0.1:1/none" },
      homeless: {},
    });
    const unavailable = errorBody("SVC317 | The tenant is not available");
    for (const name of ["broken", "greedy", "logging", "absent", "homeless"]) {
      await t.step(name, async () => {
        const response = await opened.send(`GET http://service/${name}/facts`);
        strictEqual(response.headers.get("retry-after"), "1");
        deepStrictEqual([response.status, await response.json()], [503, unavailable]);
        const facts = await answer(opened.send("GET http://service/acme/facts"));
        deepStrictEqual(facts, [200, factOf("acme")]);
      });
    }
    await t.step("its requests count as failed, but not those of no tenant", async () => {
      await (await opened.send("GET http://service/nobody/facts")).body?.cancel();
      const routes = opened.tenants.adminRoutes({ isLive: () => true, processMetrics: () => "" });
      const response = await routes.get("/metrics")!.respond(
        new Request("http://localhost/metrics"),
        {
          client: null,
        },
      );
      const counts = (await response.text()).match(/^svc_tenant_failed_requests_total\{.*/gm);
      deepStrictEqual(counts?.slice(0, 2), [
        'svc_tenant_failed_requests_total{tenant="broken"} 1.0',
        'svc_tenant_failed_requests_total{tenant="acme"} 0.0',
      ]);
      ok(!counts?.some((line) => line.includes("nobody")));
    });
    await t.step("the log says why", () => {
      const reasons = opened.events.filter((event) => event.kind === "tenant-failed")
        .map(({ tenant, reason }) => `${tenant}: ${reason.replace(/^\/.*\//, "")}`);
      deepStrictEqual(reasons, [
        "broken: broken.conf:2: db-pool-size: unknown key",
        "greedy: greedy.conf:2: server-port: belongs to the process, not to a tenant",
        "logging: logging.conf:2: log-level: belongs to the process, not to a tenant",
        "absent: its schema cache cannot be loaded",
        "homeless: required, but not set: db-uri, for example db-uri = " +
        '"postgres://authenticator:secret@localhost:5432/shop"',
      ]);
    });
  });

  await t.step("a changed file is loaded, a removed one is gone, a new one is found", async () => {
    await using opened = await openTenants({ ...common, "tenant-by": "path" }, files);
    const facts = (name: string) => answer(opened.send(`GET http://service/${name}/facts`));
    deepStrictEqual(await facts("acme"), [200, factOf("acme")]);
    await opened.write("acme", { "db-uri": uri("gamma"), "db-max-rows": 5 });
    opened.tenants.check();
    deepStrictEqual(await facts("acme"), [200, factOf("gamma")]);
    await opened.remove("acme");
    opened.tenants.check();
    deepStrictEqual(await facts("acme"), noTenant);
    deepStrictEqual(await facts("delta"), noTenant);
    await opened.write("delta", { "db-uri": uri("gamma") });
    deepStrictEqual(await facts("delta"), [200, factOf("gamma")]);
  });
});
