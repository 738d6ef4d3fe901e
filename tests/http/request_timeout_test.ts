/**
 * `server-request-timeout`: the answer says what PostgreSQL did. Requests that the timeout does not mean
 * are sent again until they have time enough.
 */
import { deepStrictEqual, strictEqual } from "node:assert/strict";
import type { Handler, Observation } from "../../mod.ts";
import { withAdministeredHandler } from "../support/handler/administered_handler.ts";
import { buildRequest, type RequestParts } from "../support/handler/request.ts";
import { answer } from "../support/handler/rows.ts";
import { eventually } from "../support/timing/eventually.ts";

const schema = `
  create table public.gate (id int);
  create table api.written (id int);
  grant select, insert on api.written to anon;
  create function api.hold() returns trigger language plpgsql security definer as
    $$ begin lock table public.gate; return new; end $$;
  create trigger hold after insert on api.written for each row when (new.id < 0)
    execute function api.hold();
  create function api.slow() returns text stable language sql
    as $$ select 'slept' from pg_sleep(600) $$`;

const config = { dbSchemas: ["api"], serverRequestTimeout: 0.1 };

const overdue = answer("504 SVC134 | Request was not answered in time");

const sender = (handler: Handler) => async (line: string, parts: RequestParts = {}) => {
  const response = await handler(await buildRequest({ line, origin: "http://h" }, parts));
  const text = await response.text();
  return [response.status, text === "" ? null : JSON.parse(text)];
};

async function sendInTime(handler: Handler, line: string, parts?: RequestParts) {
  let answer = await sender(handler)(line, parts);
  await eventually("an answer in time", async () => {
    if (answer[0] !== 504) return true;
    answer = await sender(handler)(line, parts);
    return false;
  });
  return answer;
}

Deno.test("server-request-timeout cancels a read, and answers 504", async () => {
  const events: Observation[] = [];
  const observe = (event: Observation) => void events.push(event);
  await withAdministeredHandler(schema, { ...config, observe }, async ({ handler, admin }) => {
    const send = sender(handler);
    deepStrictEqual(await send("GET /rpc/slow"), overdue);
    deepStrictEqual(await sendInTime(handler, "GET /written"), [200, []]);
    const { rows } = await admin.query(
      "select count(*)::int as n from pg_stat_activity where query like '%slow%' " +
        "and state = 'active' and datname = current_database() and pid <> pg_backend_pid()",
    );
    deepStrictEqual(rows, [{ n: 0 }]);
    deepStrictEqual(events.filter(({ kind }) => kind === "pool-timeout"), []);
  });
});

for (
  const [name, row] of [["of one write", {}], ["whose end depends on its result", {
    headers: {
      Prefer: "max-affected=5, handling=strict",
      Accept: "application/vnd.svc.object+json",
    },
  }]] as const
) {
  Deno.test(`server-request-timeout rolls back a transaction ${name}`, async () => {
    await withAdministeredHandler(schema, config, async ({ handler, admin }) => {
      const send = sender(handler);
      await admin.query("begin; lock table public.gate");
      deepStrictEqual(await send("POST /written", { body: { id: -1 }, ...row }), overdue);
      await admin.query("commit");
      deepStrictEqual(await sendInTime(handler, "GET /written"), [200, []]);
      strictEqual((await sendInTime(handler, "POST /written", { body: { id: 1 } }))[0], 201);
    });
  });
}

Deno.test("server-request-timeout counts the wait for a connection, and executes nothing later", async () => {
  const one = { ...config, dbPool: 1, serverRequestTimeout: 0.3 };
  await withAdministeredHandler(schema, one, async ({ handler, admin }) => {
    const send = sender(handler);
    await admin.query("begin; lock table public.gate");
    const holding = send("POST /written", { body: { id: -1 } });
    const waiting = [1, 2, 3].map((id) => send("POST /written", { body: { id } }));
    for (const answer of [holding, ...waiting]) deepStrictEqual(await answer, overdue);
    await admin.query("commit");
    deepStrictEqual((await admin.query("select id from api.written")).rows, []);
  });
});

Deno.test("server-request-timeout counts the time of the body", async () => {
  await withAdministeredHandler(schema, config, async ({ handler }) => {
    for (const [name, value] of [["Content-Length", "10"], ["Transfer-Encoding", "chunked"]]) {
      const headers = { [name!]: value! };
      const body = new ReadableStream<Uint8Array>({ pull: () => new Promise(() => {}) });
      const bare = await buildRequest({ line: "POST /written", origin: "http://h" }, { headers });
      const response = await handler(new Request(bare, { body }));
      deepStrictEqual([response.status, await response.json()], overdue);
    }
    strictEqual((await sendInTime(handler, "GET /written"))[0], 200);
  });
});
