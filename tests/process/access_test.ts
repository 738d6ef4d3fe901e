import { deepStrictEqual, match, ok, strictEqual } from "node:assert/strict";
import type { AccessCell } from "../../src/wings/audit/access/cells.ts";
import { accessLogin } from "../support/database/access_login.ts";
import { engines } from "../support/database/engines.ts";
import { withClient } from "../support/database/postgres_client.ts";
import { freePort } from "../support/server/free_port.ts";
import { programFolder } from "../support/server/program.ts";

const fixture = {
  name: "access",
  roles: ["access_anon", "access_user", "access_owner", "access_parent"],
};

/** Lines of the matrix of all roles. */
const matrixLines = [
  "| relation                           | access_anon | access_owner | access_parent | access_user |",
  "| ---------------------------------- | ----------- | ------------ | ------------- | ----------- |",
  '| api."a\\|b\\\\n""c"                   | -           | -            | -             | s           |',
  "| api.forced                         | -           | s i u d      | -             | -           |",
  "| api.hello(n text)                  | X           | X            | -             | X           |",
  "| api.inherited                      | s0 i0       | -            | -             | s i         |",
  "| api.joined                         | -           | -            | -             | S!          |",
  "| api.locked                         | -           | -            | -             | s0 i0 u0 d0 |",
  "| api.six                            | -           | -            | -             | S* I        |",
];

/** Lines of the access of one role, without the width of columns. */
const roleLines = [
  "| relation | action | access_user | visible |",
  '| api."a\\|b\\\\n""c" | select | rows by "p\\|\\\\nq""" | 0 visible |',
  "| api.bye(n text) | execute | no: grant execute on function api.bye(n text) to access_user; | |",
  "| api.hello(n text) | execute | execute | |",
  "| api.inherited | select | rows by inherited_parent and inherited_read | 0 visible |",
  "| api.invoker | select | policies of api.inherited apply below the view | 0 visible |",
  "| api.joined | insert | no: the view cannot be written | |",
  "| api.joined | select | past policies of api.inherited, api.owned{invoker api.joined} | 0 visible |",
  "| api.locked | delete | no permissive policy for DELETE | |",
  "| api.many | select | all rows | > 10,000 visible |",
  "| api.six | select | columns a, b; all rows | 0 visible |",
  // A10: the count takes longer than a second.
  "| api.slow | select | all rows | 57014 |",
  "| api.stored | select | past policies of api.inherited | 0 visible |",
];

Deno.test("svc access shows the access of roles", async (t) => {
  const database = await engines.pg(fixture);
  await using folder = await programFolder();
  const options = ["--schemas=api, closed", "--anon-role=access_anon", "--host=127.0.0.1"];
  const run = (...flags: readonly string[]) =>
    folder.run(["access", ...flags, ...options], { SVC_DB_URI: accessLogin(database.uri) });
  try {
    await t.step("as a table of Markdown", async () => {
      const { code, stdout, stderr } = await run();
      deepStrictEqual([code, stderr], [0, ""]);
      const lines = stdout.split("\n");
      deepStrictEqual(matrixLines.filter((line) => !lines.includes(line)), []);
      match(stdout, /\n\n- s select, i insert, [^\n]+\n- S [^\n]+\n- s\*: [^\n]+\n$/);
    });
    await t.step("of one role, with counts", async () => {
      const { code, stdout } = await run("--role=access_user", '--claims={"sub":"2"}');
      const lines = stdout.replace(/ +\|/g, " |").split("\n");
      const [version] = await withClient(
        database.superuserUri!,
        (client) => client.query("show server_version_num").then(({ rows }) => rows),
      );
      // PostgreSQL 14 has no security_invoker.
      const sql = Number(version!.server_version_num) < 150000
        ? ""
        : ": alter view $1 set (security_invoker = true);";
      const expected = roleLines.map((line) => line.replace(/\{invoker (.*)\}/, sql));
      deepStrictEqual([code, expected.filter((line) => !lines.includes(line))], [0, []]);
    });
    await t.step("as JSON", async () => {
      const { stdout } = await run("--json");
      const cells: readonly AccessCell[] = JSON.parse(stdout);
      deepStrictEqual(
        Object.keys(cells[0]!).join(),
        "role,relation,action,may,columns,policies," +
          "past,reason,sql,visible",
      );
      strictEqual(cells.length % 4, 0);
    });
    await t.step("names that could be markup, or change the terminal", async () => {
      const name = (kind: string) => `"${kind}|<b>\`[x](y)\u001b[31m\u009b\n*"`;
      const [role, table, column, policy] = ["r", "t", "c", "p"].map(name);
      await withClient(
        database.superuserUri!,
        (client) =>
          client.query(`create role ${role}; grant ${role} to access_login;
          grant usage on schema api to ${role}; create table api.${table} (${column} int, d int);
          alter table api.${table} enable row level security;
          create policy ${policy} on api.${table} using (d > 0);
          grant select (${column}) on api.${table} to ${role}`),
      );
      try {
        const shown = (kind: string) => `"${kind}\\|\\<b>\\\`[x\\](y)\\\\x1b[31m\\\\x9b\\\\n*"`;
        const { stdout: matrix } = await run();
        const [head = "", ...lines] = matrix.split("\n");
        ok(head.includes(` | ${shown("r")} |`), head);
        ok(lines.some((line) => line.startsWith(`| api.${shown("t")} `)), matrix);
        const { stdout } = await run(`--role=${role!.slice(1, -1)}`);
        const row = stdout.replace(/ +\|/g, " |").split("\n").find((line) =>
          line.startsWith(`| api.${shown("t")} | select |`)
        );
        strictEqual(
          row,
          `| api.${shown("t")} | select | columns ${shown("c")}; rows by ${
            shown("p")
          } | 0 visible |`,
        );
        const { stdout: json } = await run("--json");
        const cells: readonly AccessCell[] = JSON.parse(json);
        const cell = cells.find((each) => each.role === role && each.relation === `api.${table}`);
        deepStrictEqual([cell!.action, cell!.columns], ["select", [column]]);
        for (const text of [matrix, stdout, json]) {
          strictEqual(/[^\n\P{Cc}]/u.test(text), false);
        }
      } finally {
        await withClient(
          database.superuserUri!,
          (client) => client.query(`drop owned by ${role}; drop role ${role}`),
        );
      }
    });
    const noRoles =
      "no such role of requests: set db-anon-role, or grant a role to the user of db-uri";
    const failures = [
      ["--role=no_such", noRoles],
      ["--role=postgres", noRoles],
      ["--claims={}", "--claims needs --role=ROLE"],
    ] as const;
    for (const [flag, message] of failures) {
      await t.step(flag, async () => {
        const { code, stderr } = await run(flag);
        deepStrictEqual([code, stderr], [2, `svc: ${message}\n`]);
      });
    }
    await t.step("an unreachable database", async () => {
      const { code, stderr } = await folder.run(["access", ...options], {
        SVC_DB_URI: `postgres://a:secret-word@127.0.0.1:${freePort()}/x`,
      });
      strictEqual(code, 3);
      ok(!stderr.includes("secret-word"), stderr);
    });
  } finally {
    await database.remove();
  }
});
