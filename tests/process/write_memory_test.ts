/**
 * How much memory a large insert takes, and whether others are answered meanwhile. `SVC_TEST_BODY_MB=50`
 * makes the body as large as the promise is about. `deno task bench` measures the time.
 */
import { ok, strictEqual } from "node:assert/strict";
import { bulkRows, bulkTable } from "../support/database/bulk_rows.ts";
import { prepared, serverVariable } from "../support/runner/environment.ts";
import { engines } from "../support/database/engines.ts";
import { withClient } from "../support/database/postgres_client.ts";
import { startService } from "../support/server/process.ts";
import { memoryOf, resetPeak } from "../support/server/process_memory.ts";

const megabytes = Number(Deno.env.get("SVC_TEST_BODY_MB") ?? 16);
/** Growth of resident memory since nothing large was sent: 150 MB for 50 MB. */
const allowed = (megabytes * 1.4 + 80) * 1_000_000;
/** Requests that the service must answer during an insert: one that stands still answers two at most. */
const minAnswers = 10;

const setup = `
  ${bulkTable};
  grant all on api.bulk to anon;
`;

/** Counts the answers to requests that need no database, one after the other, until `ended` settles. */
async function countAnswers(origin: string, ended: Promise<unknown>): Promise<number> {
  let answers = 0;
  let isOver = false;
  ended.finally(() => isOver = true);
  while (!isOver) {
    await (await fetch(`${origin}/bulk`, { method: "OPTIONS" })).body?.cancel();
    answers++;
  }
  return answers;
}

Deno.test({
  name: `an array of ${megabytes} MB is inserted in little memory, while others are answered`,
  ignore: Deno.build.os !== "linux",
  async fn(t) {
    await using resources = new AsyncDisposableStack();
    const database = await engines.pg({ name: "writes", roles: ["anon", "writer"] });
    resources.defer(() => database.remove());
    const owner = new URL(prepared(serverVariable));
    owner.pathname = new URL(database.uri).pathname;
    await withClient(owner.href, (client) => client.query(setup));
    const body = bulkRows(megabytes * 1_000_000);
    const truncate = () => withClient(owner.href, (client) => client.query("truncate api.bulk"));
    await using service = await startService({
      "db-uri": database.uri,
      "db-schemas": "api",
      "db-anon-role": "anon",
    });
    await service.listening();
    const send = async (query: string) => {
      await truncate();
      const response = await fetch(`${service.origin}/bulk${query}`, {
        method: "POST",
        body: new Uint8Array(body),
        headers: { "Content-Type": "application/json", Prefer: "count=exact" },
      });
      strictEqual(response.status, 201, await response.text());
    };
    await service.fetch("POST /bulk", { body: { id: -1 } });
    const before = await memoryOf(service.pid, "VmRSS");
    await resetPeak(service.pid);
    const columns = "?columns=id,name,note,price,tags";
    for (const query of [columns, "", columns, "", columns]) {
      await t.step(`POST /bulk${query}`, async () => {
        const sent = send(query);
        const answers = await countAnswers(service.origin, sent);
        await sent;
        const grown = await memoryOf(service.pid, "VmHWM") - before;
        const facts = JSON.stringify({ grown, answers });
        if (Deno.env.has("SVC_TEST_BODY_MB")) console.log(facts);
        ok(grown < allowed, facts);
        ok(answers >= minAnswers, facts);
      });
    }
  },
});
