/**
 * A write with an `Idempotency-Key` takes effect once, wherever the connection to the database breaks: the
 * client sends it again, and gets the answer of the write that was committed.
 */
import { ok, strictEqual } from "node:assert/strict";
import { createHandler } from "../../mod.ts";
import { type Cut, startCuttingProxy } from "../support/database/cutting_proxy.ts";
import { engines } from "../support/database/engines.ts";
import { buildRequest } from "../support/handler/request.ts";
import { eventually } from "../support/timing/eventually.ts";
import { withClient } from "../support/database/postgres_client.ts";

/** Lengths that a cut leaves of a write to the server, dense about its Sync. */
const lost = [1, 2, 5, 6, 10, 20, 40, 80, 160, 1e6];

Deno.test("a write that is sent again after a broken connection takes effect once", async (t) => {
  await using resources = new AsyncDisposableStack();
  const database = await engines.pg({ name: "idempotency", roles: ["anon", "writer", "clerk"] });
  resources.defer(() => database.remove());
  const uri = new URL(database.uri);
  const proxy = resources.use(startCuttingProxy(Number(uri.port)));
  uri.port = String(proxy.port);
  const handler = createHandler({
    dbUri: uri.href,
    dbSchemas: ["api"],
    dbAnonRole: "anon",
    dbPool: 1,
    idempotencyTable: { schema: "svc", name: "idempotency_keys" },
  });
  resources.defer(() => handler.close());
  await handler.ready();
  const ask = async (line: string, parts = {}) => {
    const response = await handler(await buildRequest({ line, origin: "http://x" }, parts));
    return { status: response.status, headers: response.headers, text: await response.text() };
  };
  let count = 0;
  const after = { replays: 0, executions: 0 };
  await withClient(database.superuserUri!, async (owner) => {
    const probe = async (cut: Cut | null) => {
      await eventually("a connection", async () => (await ask("GET /orders")).status === 200);
      const customer = `customer-${++count}-of-the-write`;
      const parts = {
        body: { customer },
        headers: { "Idempotency-Key": customer, Prefer: "return=representation" },
      };
      proxy.arm(customer, cut);
      const first = await ask("POST /orders", parts);
      const report = proxy.disarm();
      strictEqual(first.status, report.cut && first.status !== 201 ? 503 : 201);
      // PostgreSQL may still execute the write whose connection is gone: until then the key is refused.
      let again = await ask("POST /orders", parts);
      await eventually("the end of the first write", async () => {
        if (again.status === 201) return true;
        ok([409, 503].includes(again.status), again.text);
        again = await ask("POST /orders", parts);
        return again.status === 201;
      });
      const isReplay = again.headers.has("Idempotent-Replayed");
      if (first.status === 201) {
        ok(isReplay);
        strictEqual(again.text, first.text);
      } else if (isReplay) after.replays++;
      else after.executions++;
      const { rows } = await owner.query(
        "select count(*)::int as effects from api.orders where customer = $1",
        [customer],
      );
      strictEqual(rows[0]!["effects"], 1, JSON.stringify(cut));
      return report;
    };
    await t.step("without a cut", () => probe(null).then(() => {}));
    const { received } = await probe(null);
    await t.step("in a write to the server", async () => {
      for (const write of [0, 1]) {
        for (const bytes of lost) await probe({ side: "to server", write, lost: bytes });
      }
    });
    await t.step("in an answer of the server", async () => {
      for (let left = 1; left <= 40; left += 3) {
        await probe({ side: "from server", passed: Math.max(0, received - left) });
      }
    });
  });
  ok(after.executions > 0, "no write was lost before COMMIT");
  ok(after.replays > 0, "no answer was lost behind COMMIT");
});
