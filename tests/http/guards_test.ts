/** Options that bound requests: `db-read-only`, `db-statement-timeout`, `server-max-body-size`. */
import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { withAdministeredHandler } from "../support/handler/administered_handler.ts";
import { type Api, serviceSuite } from "../support/handler/api.ts";
import { buildRequest } from "../support/handler/request.ts";
import { testSecret } from "../support/handler/token.ts";
import { errorBody } from "../support/handler/rows.ts";
import { eventually } from "../support/timing/eventually.ts";

const base = { dbSchemas: ["api"], dbAnonRole: "anon" } as const;

const readOnly = serviceSuite("long_bodies", { ...base, dbReadOnly: true }, {
  title: "db-read-only",
});

const refused = (statement: string) =>
  errorBody(`25006 | cannot execute ${statement} in a read-only transaction`);

/** PostgreSQL names the outermost statement, which selects from the write. */
const refusedWrite = refused("SELECT");

const representation = { headers: { Prefer: "return=representation" } };

readOnly.rows("db-read-only refuses writes and answers reads", [
  ["GET /single", {}, 200, []],
  ["POST /single", { body: { id: 1 } }, 405, refusedWrite],
  ["POST /single", { body: { id: 1 }, ...representation }, 405, refusedWrite],
  ["POST /single", { body: [] }, 405, refusedWrite],
  ["PUT /single?id=eq.1", { body: { id: 1 } }, 405, refusedWrite],
  ["PATCH /single?id=eq.1", { body: { note: "a" } }, 405, refusedWrite],
  [
    "PATCH /single?id=eq.1",
    { body: { note: "a" }, headers: { Prefer: "max-affected=1, handling=strict" } },
    405,
    refusedWrite,
  ],
  ["DELETE /single?id=eq.1", {}, 405, refusedWrite],
  ["DELETE /single?id=eq.1", { as: "writer" }, 405, refusedWrite],
  ["POST /rpc/f", { body: { a: "x" } }, 200, "x"],
]);

const readOnlyCalls = serviceSuite("functions", { ...base, dbReadOnly: true }, {
  title: "db-read-only, functions",
});

readOnlyCalls.rows("db-read-only refuses what a volatile function writes", [
  ["POST /rpc/next", { body: {} }, 405, refused("nextval()")],
]);

const setting = "GET /rpc/setting?name=statement_timeout";

const timed = serviceSuite("settings", { ...base, dbStatementTimeout: 600.5 }, {
  title: "db-statement-timeout",
});

timed.rows("db-statement-timeout counts where role and function set none", [
  [setting, {}, 200, "600500ms"],
  [setting, { as: "settings_boss" }, 200, "600500ms"],
  [setting, { as: "settings_clerk" }, 200, "10s"],
  ["POST /rpc/setting", { body: { name: "statement_timeout" } }, 200, "600500ms"],
  ["GET /rpc/timed?name=statement_timeout", {}, 200, "4s"],
  ["GET /rpc/timed?name=statement_timeout", { as: "settings_clerk" }, 200, "4s"],
]);

const untimed = serviceSuite("settings", { ...base, dbStatementTimeout: 0 }, {
  title: "db-statement-timeout of 0",
});

untimed.rows("db-statement-timeout of 0 sets no timeout", [[setting, {}, 200, "0"]]);

const anonymous = { ...base, dbStatementTimeout: 900, dbAnonStatementTimeout: 600.5 } as const;

const timedAnonymous = serviceSuite("settings", anonymous, { title: "db-anon-statement-timeout" });

timedAnonymous.rows("db-anon-statement-timeout counts for the anonymous role only", [
  [setting, {}, 200, "600500ms"],
  [setting, { as: "settings_boss" }, 200, "15min"],
  [setting, { as: "settings_clerk" }, 200, "10s"],
  ["GET /rpc/timed?name=statement_timeout", {}, 200, "4s"],
]);

const untimedAnonymous = serviceSuite("settings", { ...anonymous, dbAnonStatementTimeout: 0 }, {
  title: "db-anon-statement-timeout of 0",
});

untimedAnonymous.rows("db-anon-statement-timeout of 0 sets no timeout for the anonymous role", [
  [setting, {}, 200, "0"],
  [setting, { as: "settings_boss" }, 200, "15min"],
]);

/** Timeouts of the login role and of the database, and the timeout of a request; the option is 10 s. */
const inherited: readonly (readonly [login: string | null, database: string | null, string])[] = [
  [null, null, "10s"],
  ["0", null, "0"],
  ["60s", null, "1min"],
  ["5s", "2s", "5s"],
  ["0", "2s", "0"],
  [null, "5s", "5s"],
  [null, "60s", "10s"],
  [null, "0", "10s"],
];

Deno.test("db-statement-timeout yields to the login role, and to a stricter database", async () => {
  const sql = `create function api.timeout() returns text stable language sql
    as $$ select current_setting('statement_timeout') $$`;
  const config = { dbSchemas: ["api"], jwtSecret: testSecret, dbStatementTimeout: 10 };
  await withAdministeredHandler(sql, config, async ({ handler, admin }) => {
    const { rows } = await admin.query("select current_database() as name");
    const database = `"${rows[0]!["name"]}"`;
    for (const [login, ofDatabase, expected] of inherited) {
      const change = (value: string | null) =>
        value === null ? "reset statement_timeout" : `set statement_timeout = '${value}'`;
      await admin.query(`alter role authenticator in database ${database} ${change(login)}`);
      await admin.query(`alter database ${database} ${change(ofDatabase)}`);
      await admin.query(
        "select pg_terminate_backend(pid, 5000) from pg_stat_activity " +
          "where usename = 'authenticator' and datname = current_database()",
      );
      await handler.reloadConfig();
      const response = await handler(new Request("http://h/rpc/timeout"));
      deepStrictEqual([login, ofDatabase, await response.json()], [login, ofDatabase, expected]);
    }
  });
});

Deno.test("db-statement-timeout cancels a statement and leaves the login role's timeout", async () => {
  const sql = `create function api.timeout() returns text stable language sql
      as $$ select current_setting('statement_timeout') $$;
    create function api.slow() returns text stable language sql
      as $$ select 'slept' from pg_sleep(60) $$;
    create function api.lift() returns void language sql
      as $$ select set_config('statement_timeout', '0', false) $$`;
  const config = { dbSchemas: ["api"], jwtSecret: testSecret, dbStatementTimeout: 0.05, dbPool: 1 };
  await withAdministeredHandler(sql, config, async ({ handler, admin }) => {
    const get = async (line: string) => {
      const response = await handler(await buildRequest({ line, origin: "http://h" }));
      return [response.status, response.status === 204 ? null : await response.json()];
    };
    const cancelled = errorBody("57014 | canceling statement due to statement timeout");
    deepStrictEqual(await get("GET /rpc/slow"), [500, cancelled]);
    await eventually("a call has time enough", async () => {
      return (await get("POST /rpc/lift"))[0] === 204;
    });
    deepStrictEqual(await get("GET /rpc/slow"), [500, cancelled]);
    const { rows } = await admin.query("select current_database() as name");
    const name = rows[0]!["name"];
    await admin.query(
      `alter role authenticator in database "${name}" set statement_timeout = '60s'`,
    );
    await admin.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where usename = 'authenticator' " +
        "and datname = current_database()",
    );
    await handler.reloadSchema();
    deepStrictEqual(await get("GET /rpc/timeout"), [200, "1min"]);
    deepStrictEqual(await get("POST /rpc/lift"), [204, null]);
    deepStrictEqual(await get("GET /rpc/timeout"), [200, "1min"]);
  });
});

const kibibyte = 1024;
const maxBytes = 256 * kibibyte;
const chunk = new Uint8Array(32 * kibibyte).fill(0x20);

const limited = serviceSuite("long_bodies", { ...base, serverMaxBodySize: maxBytes }, {
  title: "server-max-body-size",
});

/** Sends blanks, and then a row, in chunks; counts the chunks that the service reads. */
async function send(
  api: Api,
  line: string,
  { length, declares }: { readonly length: number; readonly declares: boolean },
): Promise<{ readonly response: Response; readonly read: number }> {
  const row = new TextEncoder().encode(`{"id":${length},"note":"a"}`);
  let sent = 0;
  let read = 0;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      read++;
      const blanks = Math.min(chunk.length, length - row.length - sent);
      sent += blanks;
      if (blanks > 0) return controller.enqueue(chunk.slice(0, blanks));
      controller.enqueue(row);
      controller.close();
    },
  }, { highWaterMark: 0 });
  const headers: Readonly<Record<string, string>> = declares
    ? { "Content-Length": String(length) }
    : { "Transfer-Encoding": "chunked" };
  const bare = await buildRequest({ line, origin: "http://localhost:3000" }, {
    headers: { "Content-Type": "application/json", ...headers },
  });
  return { response: await api.handler(new Request(bare, { body })), read };
}

const tooLarge = (details: string) =>
  errorBody(`SVC130 | Request body too large | ${details ?? ""}`);

for (const line of ["POST /single", "PATCH /single?id=eq.0", "POST /rpc/f"]) {
  limited.test(`${line} with a length above the limit is refused unread`, async (api) => {
    const { response, read } = await send(api, line, { length: 11_000_000, declares: true });
    const details = `The body has 11000000 bytes; at most ${maxBytes} are accepted`;
    deepStrictEqual(await response.json(), tooLarge(details));
    deepStrictEqual([response.status, read], [413, 0]);
    strictEqual(response.headers.get("Connection"), "close");
  });
  limited.test(`${line} in chunks above the limit is refused at the limit`, async (api) => {
    const { response, read } = await send(api, line, { length: 11_000_000, declares: false });
    deepStrictEqual(await response.json(), tooLarge(`At most ${maxBytes} bytes are accepted`));
    strictEqual(response.status, 413);
    ok(read <= maxBytes / chunk.length + 2, `${read} chunks`);
  });
}

limited.test("a body of exactly the limit is accepted", async (api) => {
  for (const declares of [true, false]) {
    const { response } = await send(api, "POST /single", { length: maxBytes, declares });
    strictEqual(response.status, 201);
    await response.body?.cancel();
    const { response: over } = await send(api, "POST /single", { length: maxBytes + 1, declares });
    strictEqual(over.status, 413);
    await over.body?.cancel();
  }
});

limited.test("a request that its URL refuses is refused before its length", async (api) => {
  const { response, read } = await send(api, "POST /nothing", {
    length: 11_000_000,
    declares: true,
  });
  deepStrictEqual([response.status, (await response.json()).code, read], [404, "SVC205", 0]);
});

const small = serviceSuite("long_bodies", { ...base, serverMaxBodySize: 20 }, {
  title: "server-max-body-size of some bytes",
});

small.test("a short body above the limit is refused, cached or not", async (api) => {
  for (let turn = 0; turn < 2; turn++) {
    const accepted = await api("POST /single", { body: { id: turn } });
    strictEqual(accepted.status, 201);
    const response = await api("POST /single", { body: { id: turn, note: "a long note" } });
    deepStrictEqual([response.status, (await response.json()).code], [413, "SVC130"]);
  }
});
