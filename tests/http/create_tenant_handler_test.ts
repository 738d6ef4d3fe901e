import { deepStrictEqual, rejects, strictEqual, throws } from "node:assert/strict";
import { createTenantHandler, type HandlerOptions } from "../../mod.ts";
import { tenantDatabases } from "../support/handler/tenants.ts";

/** Returns the first part of the path and the rest. */
function split(request: Request): readonly [name: string, path: string] {
  const [, name = "", rest = ""] = /^\/([^/]*)(.*)$/.exec(new URL(request.url).pathname) ?? [];
  return [name, rest || "/"];
}

Deno.test("createTenantHandler() keeps the handlers of the tenants that were used last", async () => {
  await using resources = new AsyncDisposableStack();
  const databases = resources.use(await tenantDatabases(["a", "b", "c"]));
  const opened: string[] = [];
  const observed = new Set<string>();
  const api = createTenantHandler({
    resolve: (request) => {
      const [name, path] = split(request);
      const dbUri = databases.uris.get(name);
      if (dbUri === undefined) return null;
      const options = (): HandlerOptions => {
        opened.push(name);
        return {
          dbUri,
          dbSchemas: ["api"],
          dbAnonRole: "anon",
          dbChannelEnabled: false,
          observe: (event) => {
            if (event.kind === "request-finished") observed.add(`${name}: ${event.tenant}`);
          },
        };
      };
      return { name, path, options };
    },
    max: 2,
  });
  resources.defer(() => api.close());
  const tenantOf = async (name: string) => {
    const response = await api(new Request(`http://h/${name}/facts`));
    const [{ tenant }] = await response.json();
    return databases.uris.get(name)!.endsWith(`/${tenant}`);
  };
  for (const name of ["a", "b", "a", "c", "b"]) strictEqual(await tenantOf(name), true);
  deepStrictEqual(opened, ["a", "b", "c", "b"]);
  deepStrictEqual([...observed], ["a: a", "b: b", "c: c"]);
  await api.forget("b");
  deepStrictEqual(await Promise.all([tenantOf("b"), tenantOf("b")]), [true, true]);
  deepStrictEqual(opened, ["a", "b", "c", "b", "b"]);
  const unknown = await api(new Request("http://h/nobody/facts"));
  deepStrictEqual([unknown.status, (await unknown.json()).code], [404, "SVC316"]);
});

Deno.test("createTenantHandler() answers 503 for invalid options, and asks for them again", async () => {
  let calls = 0;
  const options = (): HandlerOptions => {
    calls++;
    return { dbUri: "", dbSchemas: [] };
  };
  const api = createTenantHandler({ resolve: () => ({ name: "a", options }) });
  for (const _ of ["first", "second"]) {
    const response = await api(new Request("http://h/"));
    deepStrictEqual([response.status, (await response.json()).code], [503, "SVC317"]);
  }
  strictEqual(calls, 2);
});

Deno.test("createTenantHandler() rejects if the tenant cannot be resolved", async () => {
  const api = createTenantHandler({ resolve: () => Promise.reject(new Error("no store")) });
  await rejects(api(new Request("http://h/")), { message: "no store" });
  throws(() => createTenantHandler({ resolve: () => null, max: 0 }), {
    message: "max: expected a whole number above 0",
  });
});
