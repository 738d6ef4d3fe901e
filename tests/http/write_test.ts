import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { type Api, apiSuite } from "../support/handler/api.ts";

const suite = apiSuite("writes", { dbSchemas: ["api"], dbAnonRole: "anon" });
const representation = { Prefer: "return=representation" };

async function count(api: Api, table: string): Promise<string | null> {
  const response = await api(`HEAD /${table}`, { headers: { Prefer: "count=exact" } });
  return response.headers.get("Content-Range");
}

const committing = apiSuite(
  "writes",
  { dbSchemas: ["api"], dbAnonRole: "anon", dbTxEnd: "commit" },
  { title: "writes, committed" },
);

committing.test("a write that is answered with an error has changed nothing", async (api) => {
  const before = await count(api, "signals");
  const singular = { Accept: "application/vnd.svc.object+json" };
  const failing = [
    [{ id: 1, status: "nonsense" }, {}, 500, "SVC112"],
    [{ id: 1, headers: "nonsense" }, {}, 500, "SVC111"],
    [{ id: 1, headers: '[{"a":"b\\r\\nc"}]' }, {}, 500, "SVC111"],
    [[{ id: 1 }, { id: 2 }], singular, 406, "SVC116"],
  ] as const;
  for (const [body, headers, status, code] of failing) {
    const response = await api("POST /signals", { body, headers });
    strictEqual((await response.json()).code, code);
    strictEqual(response.status, status);
    strictEqual(await count(api, "signals"), before);
  }
});

committing.test("database code sets status and headers of a write that is kept", async (api) => {
  const response = await api("POST /signals", {
    body: { id: 5, status: "202", headers: '[{"X-A":"1"},{"X-A":"2"},{"Location":"/here"}]' },
  });
  strictEqual(response.status, 202);
  strictEqual(response.headers.get("X-A"), "1, 2");
  strictEqual(response.headers.get("Location"), "/here");
  await response.body?.cancel();
  deepStrictEqual(await (await api("GET /signals?select=id")).json(), [{ id: 5 }]);
});

committing.test("a deferred constraint that fails at COMMIT is the answer", async (api) => {
  const response = await api("POST /pairs", {
    body: { id: 1, other: 99 },
    headers: representation,
  });
  strictEqual(response.status, 409);
  strictEqual((await response.json()).code, "23503");
  strictEqual(await count(api, "pairs"), "*/0");
});

suite.test("a deferred constraint speaks up before a rollback, too", async (api) => {
  const response = await api("POST /pairs", { body: { id: 1, other: 99 } });
  strictEqual(response.status, 409);
  await response.body?.cancel();
});
