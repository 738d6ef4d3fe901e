import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { type Api, apiSuite } from "../support/handler/api.ts";

const suite = apiSuite("isolation", {
  dbSchemas: ["api", "other"],
  dbAnonRole: "anon",
  dbPool: 3,
  dbTxEnd: "commit",
});

async function whoami(api: Api, number: number): Promise<void> {
  const role = `user_${number}`;
  const schema = number % 4 === 0 ? "other" : "api";
  const response = await api(`GET /rpc/whoami?`, {
    as: { role, sub: `sub ${number}` },
    headers: { "X-Mark": `mark ${number}`, Cookie: `mark=${number}`, "Accept-Profile": schema },
  });
  strictEqual(response.status, 200);
  const search_path = `"${schema}", "public", pg_temp`;
  deepStrictEqual(
    await response.json(),
    schema === "other" ? { search_path } : {
      role,
      sub: `sub ${number}`,
      mark: `mark ${number}`,
      cookie: String(number),
      path: "/rpc/whoami",
      search_path,
      secrets: [`secret of ${role}`],
    },
  );
}

suite.test("50 clients with different tokens see their own role, claims and rows only", async (api) => {
  const clients = Array.from({ length: 50 }, async (_, client) => {
    for (let round = 0; round < 20; round++) {
      await whoami(api, (client * 7 + round) % 20 + 1);
      if (round % 5 === 0) {
        await api("POST /rpc/misbehave", { as: { role: `user_${client % 20 + 1}` } });
      }
    }
  });
  await Promise.all(clients);
});

suite.test("what a failed request set is gone with it", async (api) => {
  const failed = await api("POST /rpc/misbehave", { as: { role: "user_1" } });
  strictEqual(failed.status, 400);
  strictEqual(failed.headers.get("X-Leak"), null);
  await failed.body?.cancel();
  const response = await api("GET /rpc/whoami", { as: { role: "user_2" } });
  strictEqual(response.headers.get("X-Leak"), null);
  deepStrictEqual(await response.json(), {
    role: "user_2",
    sub: null,
    mark: null,
    cookie: null,
    path: "/rpc/whoami",
    search_path: '"api", "public", pg_temp',
    secrets: ["secret of user_2"],
  });
});

suite.test("an anonymous request after an authenticated one is anonymous", async (api) => {
  await (await api("GET /rpc/whoami", { as: { role: "user_3" } })).body?.cancel();
  const response = await api("GET /me?select=role,claims");
  deepStrictEqual(await response.json(), [{ role: "anon", claims: { role: "anon" } }]);
});
