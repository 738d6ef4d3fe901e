import { deepStrictEqual, match, rejects, strictEqual } from "node:assert/strict";
import { SqlSession } from "../../src/database/connection/sql_session.ts";
import { type CaseResult, parseCaseFile } from "../../src/wings/audit/policy_test/case_file.ts";
import { runFile } from "../../src/wings/audit/policy_test/case_handler.ts";
import { answerText } from "../../src/wings/audit/policy_test/expectation.ts";
import { type Engine, engines } from "../support/database/engines.ts";
import { policyDatabase } from "../support/handler/policy_database.ts";

const accounts = "insert into api.account (id, email, team) values (1, 'anna@shop', 3), " +
  "(2, 'ben@shop', 4);\n";
const docs = "insert into api.doc (id, owner_id, title, published) values (1, 1, 'plan', false), " +
  "(2, 2, 'report', true);\n";
const callers = `===
anna  web_user {"sub": "1", "team": "3"}
ben   web_user {"sub": "2", "team": "4"}
===
`;
const columns = "&columns=owner_id,title";

const five = `anna       GET   /doc?select=id                           => 200 [{"id":1}]
ben        PATCH /doc?id=eq.1 {"title":"mine"}            => 204 no rows
anna       PATCH /doc?id=eq.1&select=title {"title":"x"}  => 200 [{"title":"x"}]
           Prefer: return=representation
anna       POST  /doc {"owner_id":2,"title":"x"}          => 403 42501
anonymous  GET   /doc?select=id                           => 200 1 row
`;

/** SQL behind the fixtures, cases, and the differences by the line of the case. */
type Row = readonly [label: string, sql: string, cases: string, failures: readonly string[]];

const rows: readonly Row[] = [
  ["B1: the file of the reference", "", five, []],
  ["B2: a policy becomes true", "alter policy doc_own on api.doc using (true);", five, [
    '1 expected 1 elements, got 2: [{"id":1},{"id":2}]',
    "2 expected no rows, got 1 row",
    '4 expected 403, got 409 23505: duplicate key value violates unique constraint "doc_pkey"',
  ]],
  ["B3: a grant is lost", "revoke update on api.doc from web_user;", five, [
    "2 expected 204, got 403 42501: permission denied for table doc",
    "3 expected 200, got 403 42501: permission denied for table doc",
  ]],
  [
    "B4: the answer gains a member",
    "",
    `anna GET /doc?select=id,title => 200 [{"id":1}]\n`,
    [],
  ],
  [
    "B5: a case deletes what the next reads",
    "",
    "anna DELETE /doc?id=eq.1 => 204 1 row\nanna GET /doc?id=eq.1&select=id => 200 1 row\n",
    [],
  ],
  [
    "B6: a deferred key",
    "alter policy doc_own on api.doc using (true);",
    `anna POST /doc?select=id${columns} {"owner_id":9,"title":"x"} => 409 23503\n`,
    [],
  ],
  [
    "B9: the fixtures define a table",
    "create table api.fresh (id int primary key); grant select on api.fresh to web_anon; " +
    "insert into api.fresh values (7);",
    `anonymous GET /fresh => 200 [{"id":7}]\n`,
    [],
  ],
  ["without an expectation", "", "anna GET /doc?select=id\nanna GET /nix\n", [
    '1 expected nothing, got 200 [{"id":1}]; --write adds it',
    "2 expected nothing, got 404 SVC205; --write adds it",
  ]],
  [
    "fixtures leave another role, and a dollar quote with an include",
    "set role web_user; select $$\n\\i nix.sql\n$$",
    five,
    [],
  ],
  ["line ends of old systems", "", five.replaceAll("\n", "\r"), []],
  [
    "a body that only looks like JSON",
    "",
    `anna POST /doc?columns=title {"a => b => 400 22P02\nanna POST /doc {x => 400 SVC102\n`,
    [],
  ],
  [
    "a code alone, rows alone, JSON alone",
    "",
    `ben GET /doc?select=id => 1 row
ben GET /doc?select=id => [{"id":2}]
ben GET /doc?select=nix => 42703
ben GET /doc?select=secret => 42501
ben HEAD /doc?select=id => 200 1 row
anna POST /doc?columns=owner_id,title {"owner_id":1,"title":"a => b"} => 201 1 row
anna POST /doc?columns=owner_id,title [{"owner_id":1,"title":"a"},{"owner_id":1,"title":"b"}] => 2 rows
`,
    [],
  ],
  [
    "differences",
    "",
    `ben GET /doc?select=id,title => 200 [{"id":1}]
ben GET /doc?select=id => 404
ben GET /doc?select=id => {"id":2}
ben GET /doc?select=id => 200 [{"id":2,"title":"x"}]
ben GET /doc?select=id => 403 42501
anna POST /doc?columns=owner_id,title {"owner_id":2,"title":"x"} => 403 42503
ben GET /doc?select=id,owner_id&id=eq.9 => 200 1 row
ben GET /doc?select=id => 150 rows
`,
    [
      "1 expected 1 at [0].id, got 2",
      "2 expected 404, got 200",
      '3 expected {"id":2}, got [{"id":2}]',
      '4 expected "x" at [0].title, got nothing',
      "5 expected 403, got 200",
      "6 expected 42503, got 403 42501: " +
      'new row violates row-level security policy for table "doc"',
      "7 expected 1 row, got no rows",
      "8 expected 150 rows, got 1 row",
    ],
  ],
];

/** Fixtures that end the run. */
const refused: readonly (readonly [label: string, fixtures: string, error: RegExp])[] = [
  [
    "B7: COMMIT",
    "select 1;\n\n-- x\ncommit;",
    /^cannot run x: line 4: fixtures cannot contain COMMIT$/,
  ],
  ["begin", "begin", /^cannot run x: line 1: fixtures cannot contain BEGIN$/],
  [
    "COMMIT in an include",
    "\\i commit.sql",
    /x: commit.sql line 1: fixtures cannot contain COMMIT$/,
  ],
  [
    "COMMIT behind a comment",
    "select 1; /* x; /* y */ */ -- z\nCommit work;",
    /^cannot run x: line 2: fixtures cannot contain COMMIT$/,
  ],
  ["COMMIT in DO", "do $$ begin commit; end $$", /^x:1: invalid transaction termination/],
  [
    "a file that includes itself",
    "\\i loop.sql",
    /^cannot run x: loop.sql line 2: fixtures cannot contain 10 nested \\i$/,
  ],
  ["B8: an error of SQL", "select 1;\nselect nix;", /^x:2:8: column "nix" does not exist$/],
  [
    "an error of an include",
    "select 1;\n\\i nix.sql\n",
    /^nix.sql:2:8: column "nix" does not exist$/,
  ],
  [
    "an error behind an include",
    "\\i one.sql\nselect\n nix",
    /^x:3:2: column "nix" does not exist$/,
  ],
  [
    "a deferred key",
    "insert into api.doc (owner_id, title) values (9, 'x')",
    /^x, deferred constraints:1: insert or update on table "doc" violates foreign key/,
  ],
];

const includes: Readonly<Record<string, string>> = {
  "loop.sql": "select 1;\n\\i loop.sql",
  "commit.sql": "commit",
  "nix.sql": "\nselect nix",
  "one.sql": "select 1",
};

const differences = (results: readonly CaseResult[]) =>
  results.flatMap(({ difference }, index) =>
    difference === null ? [] : [`${index + 1} ${difference}`]
  );

for (const engine of Object.keys(engines) as Engine[]) {
  Deno.test(`[${engine}] policy tests`, async (t) => {
    await using database = await policyDatabase(engine, includes);
    const { setup } = database;
    const run = (text: string) => runFile({ name: "x", file: parseCaseFile(text), setup });
    for (const [label, sql, cases, failures] of rows) {
      await t.step(label, async () => {
        const result = await run(accounts + docs + sql + "\n" + callers + cases);
        deepStrictEqual(differences(result), failures);
      });
    }
    for (const [label, fixtures, error] of refused) {
      await t.step(label, async () => {
        await rejects(run(`${fixtures}\n${callers}`), ({ message }: Error) => {
          match(message, error);
          return true;
        });
      });
    }
    await t.step("a role that the login cannot take", async () => {
      const text = (role: string) => `===\na ${role}\n===\nanonymous GET /doc\na GET /doc\n`;
      const login = database.authenticator;
      // The session of PGlite keeps what SET SESSION AUTHORIZATION sets.
      const sql = login === null ? "" : "set session authorization web_user;\n";
      await rejects(
        run(sql + text('"no\\"body"')),
        /^Error: cannot run x as its callers: create role "no""body";$/,
      );
      const grant = /^Error: cannot run x as its callers: grant pg_monitor to authenticator;$/;
      const monitor = parseCaseFile(text("pg_monitor"));
      if (login !== null) await rejects(runFile({ name: "x", file: monitor, setup: login }), grant);
    });
    await t.step("a claim of an answer's text", async () => {
      const text = accounts + docs + callers + "anna GET /doc?select=id\n";
      const results = await run(text);
      strictEqual(answerText(results[0]!.answer), '200 [{"id":1}]');
    });
    await t.step("B1: no row stays", async () => {
      const { results } = await new SqlSession(setup.transport).run(
        "select (select count(*) from api.doc), (select count(*) from api.account), " +
          "to_regclass('api.fresh'), pg_current_xact_id_if_assigned()",
      );
      deepStrictEqual(results[0]!.rows, [["0", "0", null, null]]);
    });
  });
}
