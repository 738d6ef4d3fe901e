import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { SqlSession } from "../../src/database/connection/sql_session.ts";
import { mutationText } from "../../src/wings/audit/mutation/mutate.ts";
import { parseCaseFile } from "../../src/wings/audit/policy_test/case_file.ts";
import { type Engine, engines } from "../support/database/engines.ts";
import { policyDatabase } from "../support/handler/policy_database.ts";

/** The exposed schema has this table alone. */
const table = `drop schema api cascade; create schema api; grant usage on schema api to web_user;
create function pg_temp.sub() returns int language sql stable
  as $$ select (current_setting('request.jwt.claims', true)::json ->> 'sub')::int $$;
create table api.doc (id int primary key, owner int, draft bool default false);
alter table api.doc enable row level security;
insert into api.doc values (1, 1), (2, 2);
`;
const callers = `===\nanna web_user {"sub": "1"}\n===\n`;
const own = "create policy own on api.doc using (owner = (select pg_temp.sub()));\n";
const select = "grant select on api.doc to web_user;\n";
const sub = "( SELECT pg_temp.sub() AS sub)";
const refused = "anonymous GET /doc => 401 42501\n";

/** SQL after the table, cases, and the sentences; the last is the summary. */
type Row = readonly [label: string, sql: string, cases: string, sentences: readonly string[]];

const rows: readonly Row[] = [
  [
    "cases that notice each change",
    own + select,
    `anna GET /doc?select=id => 200 [{"id":1}]\n${refused}`,
    ["3 changes noticed, 0 not noticed, 1 without effect on the callers"],
  ],
  [
    "a policy without a case",
    own + select,
    "anna GET /doc?select=id => 200\n",
    [
      "no case notices: drop policy own on api.doc",
      "no case notices: alter policy own on api.doc using (true)",
      "1 changes noticed, 2 not noticed, 1 without effect on the callers",
    ],
  ],
  [
    "new rows, and an operand of AND",
    "create policy own on api.doc using (owner = (select pg_temp.sub()) and not draft);\n" +
    "grant select, insert on api.doc to web_user;\n",
    `anna GET /doc?select=id => 200 [{"id":1}]\nanna POST /doc {"id":3,"owner":1} => 201\n${refused}`,
    [
      `no case notices: alter policy own on api.doc using (((owner = ${sub}) AND true)) with check (((owner = ${sub}) AND (NOT draft)))`,
      `no case notices: alter policy own on api.doc using (((owner = ${sub}) AND (NOT draft))) with check (true)`,
      `no case notices: alter policy own on api.doc using (((owner = ${sub}) AND (NOT draft))) with check ((true AND (NOT draft)))`,
      `no case notices: alter policy own on api.doc using (((owner = ${sub}) AND (NOT draft))) with check (((owner = ${sub}) AND true))`,
      "5 changes noticed, 4 not noticed, 1 without effect on the callers",
    ],
  ],
  [
    "a check of a column that callers cannot write",
    own + "grant select, insert (id) on api.doc to web_user;\n" +
    "alter table api.doc alter owner set default pg_temp.sub();\n",
    `anna GET /doc?select=id => 200 [{"id":1}]\nanna POST /doc {"id":3} => 201\n${refused}`,
    ["4 changes noticed, 0 not noticed, 1 without effect on the callers"],
  ],
  [
    "a restrictive policy, and one of a role without a caller",
    own + select +
    "create policy done on api.doc as restrictive using (not draft);\n" +
    "create policy other on api.doc to pg_monitor using (true);\n",
    `anna GET /doc?select=id => 200 [{"id":1}]\n${refused}`,
    [
      "no case notices: drop policy done on api.doc",
      "3 changes noticed, 1 not noticed, 1 without effect on the callers",
    ],
  ],
  [
    "a view and a function",
    own + "create view api.docs with (security_invoker) as select id from api.doc;\n" +
    "grant select on api.docs to web_user;\n" + select +
    "create function api.one() returns int language sql stable as 'select 1';\n",
    `anna GET /doc?select=id => 200 [{"id":1}]\nanonymous GET /docs => 401 42501\n${refused}`,
    [
      "no case notices: revoke select on api.docs from web_user, public",
      "no case notices: revoke execute on function api.one() from web_user, public",
      "no case notices: alter view api.docs set (security_invoker = false)",
      "3 changes noticed, 3 not noticed, 3 without effect on the callers",
    ],
  ],
];

for (const engine of Object.keys(engines) as Engine[]) {
  Deno.test(`[${engine}] mutationText() lists changes that no case notices`, async (t) => {
    await using database = await policyDatabase(engine);
    const { setup } = database;
    for (const [label, sql, cases, sentences] of rows) {
      await t.step(label, async () => {
        const file = parseCaseFile(table + sql + callers + cases);
        const { text, summary } = await mutationText([{ name: "x", file, setup }]);
        deepStrictEqual((text + summary).split("\n"), sentences);
      });
    }
    await t.step("nothing stays", async () => {
      const { results } = await new SqlSession(setup.transport).run(
        "select pg_current_xact_id_if_assigned(), count(*) from pg_policies where schemaname = 'api'",
      );
      deepStrictEqual(results[0]!.rows, [[null, "4"]]);
      strictEqual(results.length, 1);
    });
  });
}
