/**
 * How much memory and time a large insert takes. `SVC_TEST_BODY_MB=50` makes the body as large as
 * the promise is about.
 */
import { ok, strictEqual } from "node:assert/strict";
import { bulkRows, bulkTable } from "../support/bulk_rows.ts";
import { prepared, serverVariable } from "../support/environment.ts";
import { engines } from "../support/engines.ts";
import { withClient } from "../support/postgres_client.ts";
import { startService } from "../support/process.ts";
import { memoryOf, resetPeak } from "../support/process_memory.ts";

const megabytes = Number(Deno.env.get("SVC_TEST_BODY_MB") ?? 16);
/** Growth of resident memory since nothing large was sent: 150 MB for 50 MB. */
const allowed = (megabytes * 1.4 + 80) * 1_000_000;
/** Of what the same statement takes on a connection of its own. */
const allowedTime = 1.3;
/** Milliseconds, with room for a machine that has more to do. */
const allowedDelay = 250;

const setup = `
  ${bulkTable};
  grant all on api.bulk to anon;
`;

const insert = `
  insert into api.bulk (id, name, note, price, tags)
  select id, name, note, price, tags
  from json_to_recordset($1::json) as b(id int, name text, note text, price numeric, tags text[])`;

/** The longest that the service took to answer a request that asks nothing of the database. */
async function watchDelay(origin: string, until: Promise<unknown>): Promise<number> {
  let longest = 0;
  let over = false;
  until.finally(() => over = true);
  while (!over) {
    const began = performance.now();
    await (await fetch(`${origin}/bulk`, { method: "OPTIONS" })).body?.cancel();
    longest = Math.max(longest, performance.now() - began);
  }
  return longest;
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
    let direct = Infinity;
    for (let run = 0; run < 2; run++) {
      await truncate();
      const text = new TextDecoder().decode(body);
      await withClient(owner.href, async (client) => {
        const began = performance.now();
        await client.query(insert, [text]);
        direct = Math.min(direct, performance.now() - began);
      });
    }
    await using service = await startService({
      "db-uri": database.uri,
      "db-schemas": "api",
      "db-anon-role": "anon",
    });
    await service.listening();
    const send = async (query: string) => {
      await truncate();
      const began = performance.now();
      const response = await fetch(`${service.origin}/bulk${query}`, {
        method: "POST",
        body: new Uint8Array(body),
        headers: { "Content-Type": "application/json", Prefer: "count=exact" },
      });
      strictEqual(response.status, 201, await response.text());
      return performance.now() - began;
    };
    await service.fetch("POST /bulk", { body: { id: -1 } });
    const before = await memoryOf(service.pid, "VmRSS");
    await resetPeak(service.pid);
    const columns = "?columns=id,name,note,price,tags";
    for (const query of [columns, "", columns, "", columns]) {
      await t.step(`POST /bulk${query}`, async () => {
        const sent = send(query);
        const delay = await watchDelay(service.origin, sent);
        const took = await sent;
        const grown = await memoryOf(service.pid, "VmHWM") - before;
        const facts = JSON.stringify({ grown, took, direct, delay });
        if (Deno.env.has("SVC_TEST_BODY_MB")) console.log(facts);
        ok(grown < allowed, facts);
        ok(delay < allowedDelay, facts);
        if (megabytes >= 50) ok(took < direct * allowedTime, facts);
      });
    }
  },
});
