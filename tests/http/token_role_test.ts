/** The warning of `svc token` about its role. */
import { match, strictEqual } from "node:assert/strict";
import { roleProblem } from "../../src/process/cli/role_problem.ts";
import { engines } from "../support/database/engines.ts";
import { withClient } from "../support/database/postgres_client.ts";

Deno.test("[pg] roleProblem() names roles that are missing, or that the login may not become", async () => {
  const database = await engines.pg({ name: "settings", roles: ["anon", "writer"] });
  const other = `svc_token_${Deno.pid}`;
  const run = (sql: string) => withClient(database.superuserUri!, (client) => client.query(sql));
  await run(`create role ${other}`);
  try {
    strictEqual(await roleProblem(database.uri, "writer"), null);
    strictEqual(
      await roleProblem(database.uri, "writr"),
      'the role "writr" does not exist; did you mean writer?',
    );
    strictEqual(
      await roleProblem(database.uri, "no ' one at all"),
      'the role "no \' one at all" does not exist',
    );
    match(
      (await roleProblem(database.uri, other))!,
      /^(\w+) may not become \w+: grant \w+ to \1;$/,
    );
    await run(`alter role ${other} superuser`);
    strictEqual(
      await roleProblem(database.uri, other),
      `requests must not run as ${other}, a superuser`,
    );
  } finally {
    await run(`drop role ${other}`);
    await database.remove();
  }
});
