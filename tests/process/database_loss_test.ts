import { deepStrictEqual, match, ok, strictEqual } from "node:assert/strict";
import { startPostgres } from "../support/database/postgres_server.ts";
import { withClient } from "../support/database/postgres_client.ts";
import { freePort } from "../support/server/free_port.ts";
import { holdLock, waitForLock } from "../support/database/held_lock.ts";
import { startService } from "../support/server/process.ts";
import { errorBody } from "../support/handler/rows.ts";

const schema = `
  create role anon nologin;
  create role authenticator login noinherit password 'p';
  grant anon to authenticator;
  create schema api;
  grant usage on schema api to anon;
  create table api.items (id int primary key);
  insert into api.items values (1), (2);
  grant select, insert on api.items to anon;
  create function api.wait_for_lock() returns void language sql as $$ ${waitForLock} $$;
`;

Deno.test("a database that is not there is waited for", async () => {
  await using service = await startService({
    "db-uri": `postgres://nobody:secret-word@127.0.0.1:${freePort()}/nothing`,
    "db-schemas": "api",
    "db-anon-role": "anon",
  });
  await service.stderr.waitFor(/reconnect to the database in 2 seconds/);
  const response = await service.fetch("GET /items");
  strictEqual(response.status, 503);
  match(response.headers.get("Retry-After")!, /^([1-9]|[12]\d|3[0-2])$/);
  const body = await response.json();
  strictEqual(body.code, "SVC002");
  strictEqual(body.message, "Could not query the database for the schema cache. Retrying.");
  const ready = await service.fetchAdmin("GET /ready");
  strictEqual(ready.status, 503);
  const live = await service.fetchAdmin("GET /live");
  strictEqual(live.status, 200);
  strictEqual((await service.stop()).code, 0);
  ok(!service.stderr.all.join("\n").includes("secret-word"));
});

Deno.test("a server that restarts is found again", async (t) => {
  await using server = await startPostgres({ cluster: "copied" });
  await withClient(server.uri(), (client) => client.query(schema));
  await using service = await startService({
    "db-uri": server.uri({ user: "authenticator", password: "p" }),
    "db-schemas": "api",
    "db-anon-role": "anon",
    "db-pool": 3,
  });
  await service.listening();
  const items = async () => {
    const response = await service.fetch("GET /items?order=id");
    return [response.status, await response.json()] as const;
  };
  const all = [200, [{ id: 1 }, { id: 2 }]] as const;
  deepStrictEqual(await items(), all);

  await t.step("a terminated connection ends in 503 and the next request works", async () => {
    await using lock = await holdLock(server.uri());
    const waiting = service.fetch("POST /rpc/wait_for_lock");
    await lock.awaited();
    await withClient(server.uri(), (client) =>
      client.query(
        "select pg_terminate_backend(pid) from pg_stat_activity where usename = 'authenticator'",
      ));
    const response = await waiting;
    strictEqual(response.status, 503);
    ok(Number(response.headers.get("Retry-After")) >= 1);
    deepStrictEqual(
      await response.json(),
      errorBody("SVC001 | Database client error. Retrying the connection."),
    );
    deepStrictEqual(await items(), all);
  });

  await t.step("a stopped server ends in 503, never in a hung request", async () => {
    await using lock = await holdLock(server.uri());
    const waiting = service.fetch("POST /rpc/wait_for_lock");
    await lock.awaited();
    await server.halt("immediate");
    strictEqual((await waiting).status, 503);
    for (let time = 0; time < 3; time++) {
      const response = await service.fetch("GET /items");
      strictEqual(response.status, 503);
      const { code } = await response.json();
      ok(code === "SVC000" || code === "SVC001" || code.startsWith("57"), code);
    }
    strictEqual((await service.fetchAdmin("GET /ready")).status, 503);
  });

  await t.step("a server that is back is used at once", async () => {
    await server.resume();
    deepStrictEqual(await items(), all);
  });
});
