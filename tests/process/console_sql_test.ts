import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { signToken } from "../support/handler/token.ts";
import { withConsole } from "../support/server/console_service.ts";

const refusal = "Functions that change settings or execute a text are refused here";
const writing = "WITH clause containing a data-modifying statement must be at the top level";

/** SQL with its rows, or with status and text of a refusal. Each runs as the role `writer`. */
const rows: readonly (readonly [sql: string, rows: unknown])[] = [
  ["select 1 as a, 'x' as b", [{ a: 1, b: "x" }]],
  ["select current_user as me;", [{ me: "writer" }]],
  ["select current_setting('request.jwt.claims')::json->>'sub' as sub", [{ sub: "7" }]],
  ["select current_setting('transaction_read_only') as ro", [{ ro: "on" }]],
  ["values (1), (2) -- two", [{ column1: 1 }, { column1: 2 }]],
  ["select where false", []],
  ["select * from generate_series(1, 2) as n", [{ n: 1 }, { n: 2 }]],
  // Another role, however the text spells it.
  ["select set_config('role', 'none', true)", [400, refusal]],
  ["select U&\"\\0073et_config\"('role', 'none', true)", [400, refusal]],
  ["select 1 where pg_catalog.set_config('role', 'none', true) is not null", [400, refusal]],
  ["with a as materialized (select set_config('role', 'none', true)) select 1 from a", [
    400,
    refusal,
  ]],
  ["select n from generate_series(1, 1) n order by set_config('role', 'none', true)", [
    400,
    refusal,
  ]],
  ["select query_to_xml('select set_' || 'config(''role'', ''none'', true)', true, true, '')", [
    400,
    refusal,
  ]],
  ["select ts_stat('select ''a''::tsvector')", [400, refusal]],
  // Writes, and more than one statement.
  ["delete from film", [400, "Expected SELECT, WITH, VALUES or TABLE instead of DELETE"]],
  ["-- a comment\ndelete from film", [400, 'syntax error at or near "from"']],
  ["with a as (delete from film returning 1) select * from a", [400, writing]],
  ["select lo_create(0)", [400, "cannot execute lo_create() in a read-only transaction"]],
  ["select 1; select 2", [400, 'syntax error at or near ";"']],
  ["select 1) as query; drop table film; select * from (select 1", [
    400,
    "cannot insert multiple commands into a prepared statement",
  ]],
  ["select * from pg_authid", [400, "permission denied for table pg_authid"]],
];

Deno.test("/console/sql reads with the role of a token", async (t) => {
  await withConsole(async ({ adminOrigin }) => {
    const token = await signToken({ role: "writer", sub: "7" });
    const send = async (body: unknown, headers: Record<string, string> = { Console: "1" }) => {
      const response = await fetch(`${adminOrigin}/console/sql`, {
        method: "POST",
        headers,
        body: JSON.stringify(body),
      });
      return { status: response.status, text: (await response.text()).trim() };
    };
    for (const [sql, expected] of rows) {
      await t.step(sql, async () => {
        const { status, text } = await send({ sql, token });
        const found = status === 200 ? JSON.parse(JSON.parse(text).text) : [status, text];
        deepStrictEqual(found, expected);
      });
    }
    await t.step("rows beyond a thousand are left out", async () => {
      const { text } = await send({ sql: "select generate_series(1, 5000) as n", token });
      const answer = JSON.parse(text);
      strictEqual(answer.isCut, true);
      strictEqual(JSON.parse(answer.text).length, 1001);
    });
    await t.step("a token that is wrong is refused as by the API", async () => {
      strictEqual((await send({ sql: "select 1", token: "a.b.c" })).status, 401);
    });
    await t.step("no role is anonymous", async () => {
      const { text } = await send({ sql: "select current_user as me" });
      deepStrictEqual(JSON.parse(JSON.parse(text).text), [{ me: "anon" }]);
    });
    await t.step("pages of other origins are refused", async () => {
      strictEqual((await send({ sql: "select 1" }, {})).status, 403);
    });
  });
});

Deno.test("/console/sql needs admin-sign-in", async () => {
  await withConsole(async ({ adminOrigin }) => {
    const response = await fetch(`${adminOrigin}/console/sql`, {
      method: "POST",
      headers: { Console: "1" },
      body: '{"sql":"select 1"}',
    });
    strictEqual(response.status, 403);
    await response.body?.cancel();
  }, { "admin-sign-in": false });
});
