import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { withAdministeredHandler } from "../support/handler/administered_handler.ts";
import { sessionsAreBlocked } from "../support/database/blocked_sessions.ts";
import type { PostgresClient } from "../support/database/postgres_client.ts";
import { buildRequest } from "../support/handler/request.ts";

/** `runs` counts executions outside of transactions, so that a rollback does not hide one. */
const schema = `
  create sequence public.runs;
  create table api.kept (id int primary key);
  create table api.holds (id int primary key);
  insert into api.holds values (1);
  grant all on api.kept to anon;
  grant select, update on api.holds to anon;
  grant usage on sequence public.runs to anon;
  create function api.insert_behind_lock(id int) returns int language plpgsql as $$
    begin
      perform from api.holds for update;
      insert into api.kept values ($1);
      return $1;
    end $$;
  create function api.read_behind_lock() returns int stable language plpgsql as $$
    begin perform pg_advisory_xact_lock(7); return 1; end $$;
  create function api.raise_state(state text, message text) returns int language plpgsql as $$
    begin
      perform nextval('public.runs');
      execute format('do $do$ begin raise sqlstate %L using message = %L; end $do$', state, message);
      return 1;
    end $$;
`;

const config = { dbSchemas: ["api"], dbPool: 2 };

async function runsOf(admin: PostgresClient): Promise<number> {
  const { rows } = await admin.query("select last_value, is_called from public.runs");
  return rows[0]!["is_called"] ? Number(rows[0]!["last_value"]) : 0;
}

const origin = "http://localhost";

Deno.test("a client that leaves cancels its read, and its write runs to the end", async () => {
  await withAdministeredHandler(schema, config, async ({ handler, admin }) => {
    const client = new AbortController();
    const { signal } = client;
    await admin.query("begin; select from api.holds for update; select pg_advisory_lock(7)");
    const write = handler(
      await buildRequest({ line: "POST /rpc/insert_behind_lock", origin }, {
        body: { id: 1 },
        signal,
      }),
    );
    const read = handler(
      await buildRequest({ line: "GET /rpc/read_behind_lock", origin }, { signal }),
    );
    await sessionsAreBlocked(admin, 2);
    client.abort();
    // The read began after the write: when it is cancelled, the service has noticed for both.
    strictEqual((await (await read).json()).code, "57014");
    await admin.query("commit; select pg_advisory_unlock(7)");
    strictEqual((await write).status, 200);
    const { rows } = await admin.query("select id from api.kept");
    deepStrictEqual(rows, [{ id: 1 }]);
  });
});

const raised: readonly (readonly [state: string, message: string])[] = [
  ["26000", "prepared statement does not exist"],
  ["0A000", "cached plan must not change result type"],
  ["25001", "there is already a transaction in progress"],
];

for (const [state, message] of raised) {
  Deno.test(`user-defined code that raises ${state} is run once`, async () => {
    await withAdministeredHandler(schema, config, async ({ handler, admin }) => {
      for (let call = 1; call <= 4; call++) {
        const parts = { body: { state, message } };
        const request = await buildRequest({ line: "POST /rpc/raise_state", origin }, parts);
        const response = await handler(request);
        strictEqual((await response.json()).code, state);
        strictEqual(await runsOf(admin), call);
      }
    });
  });
}
