/** The transaction of a batch: its time limit, and conflicts. */
import { deepStrictEqual } from "node:assert/strict";
import type { Handler } from "../../mod.ts";
import { withAdministeredHandler } from "../support/handler/administered_handler.ts";
import { apiSuite } from "../support/handler/api.ts";
import { batchOf, get, post } from "../support/handler/batch.ts";
import { sessionsAreBlocked } from "../support/database/blocked_sessions.ts";
import type { PostgresClient } from "../support/database/postgres_client.ts";
import { buildRequest } from "../support/handler/request.ts";
import { eventually } from "../support/timing/eventually.ts";

const schema = `
  create table api.notes (id int primary key, body text);
  grant select, insert on api.notes to anon;
  create function api.wait_for_lock() returns void volatile language sql
    as $$ select pg_catalog.pg_advisory_xact_lock(1) $$;
  create function api.slow() returns text stable language sql
    as $$ select 'slept' from pg_sleep(600) $$`;

const config = { dbSchemas: ["api"], batchMaxOperations: 10 };

function sendBatch(handler: Handler, document: unknown): Promise<readonly [number, unknown]> {
  const headers = { "Content-Type": "application/vnd.svc.batch+json" };
  const parts = { headers, body: JSON.stringify(document) };
  return buildRequest({ line: "POST /", origin: "http://h" }, parts)
    .then((request) => handler(request))
    .then(async (response) => [response.status, await response.json()] as const);
}

const note = (id: number) => post("/notes", { id });
const wait = post("/rpc/wait_for_lock");
const slow = get("/rpc/slow");

async function notes(admin: PostgresClient): Promise<readonly unknown[]> {
  const { rows } = await admin.query("select id from api.notes order by id");
  return rows.map(({ id }) => id);
}

const overdue = [504, {
  code: "SVC144",
  details: null,
  hint: null,
  message: "Batch took longer than 0.1 s",
  operation: null,
}] as const;

Deno.test("batch-timeout cancels the statement, and nothing of the batch stays", async () => {
  const timed = { ...config, batchTimeout: 0.1, dbPool: 1 };
  await withAdministeredHandler(schema, timed, async ({ handler, admin }) => {
    await admin.query("select pg_advisory_lock(1)");
    const batches = [[note(1), wait], [note(1), wait, note(2), get("/notes")], [
      slow,
    ]];
    for (const requests of batches) {
      deepStrictEqual(await sendBatch(handler, { requests }), overdue);
    }
    deepStrictEqual(await notes(admin), []);
    await admin.query("select pg_advisory_unlock(1)");
    await eventually("a batch has time enough", async () => {
      return (await sendBatch(handler, { requests: [note(3)] }))[0] === 200;
    });
  });
});

Deno.test("server-request-timeout holds for a batch", async () => {
  const timed = { ...config, serverRequestTimeout: 0.1 };
  await withAdministeredHandler(schema, timed, async ({ handler, admin }) => {
    await admin.query("select pg_advisory_lock(1)");
    const [status, body] = await sendBatch(handler, { requests: [note(1), wait] });
    const { code, operation } = body as Record<string, unknown>;
    deepStrictEqual([status, code, operation], [504, "SVC134", null]);
    deepStrictEqual(await notes(admin), []);
  });
});

const embedded = apiSuite("batches", {
  dbSchemas: ["api"],
  dbAnonRole: "anon",
  dbTxEnd: "commit",
  batchMaxOperations: 10,
  batchTimeout: 0.01,
}, { title: "batches of the embedded database", engines: ["pglite"] });

embedded.test("a batch that took too long is rolled back at its end", async (api) => {
  const requests = [post("/notes", { id: 1, body: "x" }), post("/rpc/pause", { seconds: 0.05 })];
  const response = await api("POST /", batchOf(requests));
  deepStrictEqual([response.status, (await response.json()).code], [504, "SVC144"]);
  deepStrictEqual(await (await api("GET /notes?id=eq.1")).json(), []);
});

Deno.test("a serializable batch that conflicts with another transaction writes nothing", async () => {
  await withAdministeredHandler(schema, config, async ({ handler, admin }) => {
    await admin.query("select pg_advisory_lock(1)");
    const requests = [get("/notes?select=id"), wait, note(1)];
    const answer = sendBatch(handler, { isolation: "serializable", requests });
    await sessionsAreBlocked(admin);
    await admin.query("begin isolation level serializable; select * from api.notes");
    await admin.query("insert into api.notes values (2); commit");
    await admin.query("select pg_advisory_unlock(1)");
    const [status, body] = await answer;
    const { code } = body as Record<string, unknown>;
    deepStrictEqual([status, code], [500, "40001"]);
    deepStrictEqual(await notes(admin), [2]);
  });
});
