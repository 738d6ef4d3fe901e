/** Tokens that a list in the database revokes. */
import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { createHandler, type Handler, type Observation } from "../../mod.ts";
import { type Api, serviceSuite } from "../support/handler/api.ts";
import { engines } from "../support/database/engines.ts";
import { eventually } from "../support/timing/eventually.ts";
import { withClient } from "../support/database/postgres_client.ts";
import { buildRequest } from "../support/handler/request.ts";
import { type Claims, testSecret } from "../support/handler/token.ts";

const config = { dbSchemas: ["api"], dbAnonRole: "anon", jwtSecret: testSecret } as const;
const table = { schema: "private", name: "revoked_tokens" };

async function outcome(api: Api, as: Claims | string): Promise<unknown> {
  const results = [];
  // The second request finds the token in the cache.
  for (let time = 0; time < 2; time++) {
    const response = await api("GET /rpc/whoami", { as });
    const body = await response.json();
    results.push(
      response.status === 200 ? body : `${response.status} ${body.code} ${body.message}`,
    );
  }
  strictEqual(results[1], results[0]);
  return results[0];
}

const revoked = "401 SVC301 JWT was revoked";

const suite = serviceSuite("revocations", { ...config, jwtRevocations: table });

suite.test("a table revokes tokens by claim, value and time of issue", async (api) => {
  strictEqual(await outcome(api, { role: "writer" }), "writer");
  strictEqual(await outcome(api, { role: "writer", jti: "other" }), "writer");
  strictEqual(await outcome(api, { role: "writer", jti: "revoked" }), revoked);
  strictEqual(await outcome(api, { role: "writer", jti: "past" }), "writer");
  strictEqual(await outcome(api, { role: "writer", sub: "ada", iat: 1000 }), revoked);
  strictEqual(await outcome(api, { role: "writer", sub: "ada", iat: 1001 }), "writer");
  strictEqual(await outcome(api, { role: "writer", sub: "ada" }), revoked);
  strictEqual(await (await api("GET /rpc/whoami")).json(), "anon");
});

suite.test("the challenge says that the token was revoked", async (api) => {
  const { status, headers } = await api("GET /rpc/whoami", {
    as: { role: "writer", jti: "revoked" },
  });
  deepStrictEqual([status, headers.get("www-authenticate")], [
    401,
    'Bearer error="invalid_token", error_description="JWT was revoked"',
  ]);
});

const byFunction = serviceSuite(
  "revocations",
  { ...config, jwtRevocations: { schema: "private", name: "revoked" } },
  { title: "revocations by a function" },
);

byFunction.test("a function lists revoked tokens", async (api) => {
  strictEqual(await outcome(api, { role: "writer", jti: "by function" }), revoked);
  strictEqual(await outcome(api, { role: "writer", jti: "revoked" }), "writer");
});

for (const [name, problem] of [["missing", "no such list"], ["too_many", "too many rows"]]) {
  const failing = serviceSuite(
    "revocations",
    { ...config, jwtRevocations: { schema: "private", name: name! } },
    { title: `revocations with ${problem}` },
  );
  failing.test(`tokens fail with ${problem}, and anonymous requests do not`, async (api) => {
    strictEqual(
      await outcome(api, "writer"),
      "503 SVC310 The list of revoked tokens is not available",
    );
    strictEqual(await (await api("GET /rpc/whoami")).json(), "anon");
  });
}

Deno.test("NOTIFY revokes a token on two instances, and a list that is gone stays in force", async () => {
  const database = await engines.pg({ name: "revocations", roles: ["anon", "writer"] });
  const events: Observation[] = [];
  const open = () =>
    createHandler({
      ...config,
      dbUri: database.uri,
      jwtRevocations: table,
      observe: (event) => void events.push(event),
    });
  const instances = [open(), open()];
  const statusOf = async (handler: Handler, jti: string) => {
    const line = "GET /rpc/whoami";
    const request = await buildRequest({ line, origin: "http://x" }, {
      as: { role: "writer", jti },
    });
    const response = await handler(request);
    await response.body?.cancel();
    return response.status;
  };
  const count = (kind: Observation["kind"]) => events.filter((event) => event.kind === kind).length;
  try {
    await Promise.all(instances.map((instance) => instance.ready()));
    await eventually("both instances listen", () => count("listener-connected") === 2);
    for (const instance of instances) strictEqual(await statusOf(instance, "mine"), 200);
    const line = "POST /rpc/log_out";
    const parts = { body: { jti: "mine" }, as: { role: "writer", jti: "mine" } };
    const response = await instances[0]!(await buildRequest({ line, origin: "http://x" }, parts));
    strictEqual(response.status, 204);
    for (const instance of instances) {
      await eventually(
        "the token is revoked",
        async () => await statusOf(instance, "mine") === 401,
      );
      strictEqual(await statusOf(instance, "other"), 200);
    }
    strictEqual(count("reload-requested"), 0, "no line in the log for each of them");
    await withClient(
      database.superuserUri!,
      (client) =>
        client.query("drop table private.revoked_tokens; notify svc, 'reload revocations'"),
    );
    await eventually("both reloads fail", () => count("revocations-failed") === 2);
    for (const instance of instances) {
      deepStrictEqual([await statusOf(instance, "mine"), await statusOf(instance, "other")], [
        401,
        200,
      ]);
    }
  } finally {
    for (const instance of instances) await instance.close();
    await database.remove();
  }
});
