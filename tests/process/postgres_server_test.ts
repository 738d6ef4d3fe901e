import { rejects, strictEqual } from "node:assert/strict";
import { withClient } from "../support/database/postgres_client.ts";
import { startPostgres } from "../support/database/postgres_server.ts";

Deno.test("startPostgres gives a server that halts, resumes, and leaves nothing behind", async () => {
  await using server = await startPostgres({ settings: { max_connections: "7" } });
  const ask = (sql: string) =>
    withClient(server.uri(), async (client) => (await client.query(sql)).rows[0]?.answer);
  strictEqual(await ask("select current_setting('max_connections') as answer"), "7");
  await ask("create table kept as select 1 as answer");

  await server.halt("immediate");
  await rejects(ask("select answer from kept"), { code: "ECONNREFUSED" });
  await server.resume();
  strictEqual(await ask("select answer from kept"), 1);

  await server.stop();
  await rejects(ask("select 1 as answer"), { code: "ECONNREFUSED" });
  await rejects(Deno.stat(server.folder), Deno.errors.NotFound);
});
