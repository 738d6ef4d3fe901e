/** `svc token` and the role that it names. */
import { deepStrictEqual, match, strictEqual } from "node:assert/strict";
import { prepared, serverVariable } from "../support/runner/environment.ts";
import { freePort } from "../support/server/free_port.ts";
import { withClient } from "../support/database/postgres_client.ts";
import { programFolder } from "../support/server/program.ts";

Deno.test("svc token warns of a role that requests cannot have", async (t) => {
  const server = prepared(serverVariable);
  const id = crypto.randomUUID().replaceAll("-", "").slice(0, 12);
  const [login, role, missing] = [`login_${id}`, `role_${id}`, `missing_${id}`];
  const uri = new URL(server);
  [uri.username, uri.password] = [login, "pw"];
  const unreachable = `postgres://me@127.0.0.1:${freePort()}/shop`;
  const rows: readonly (readonly [uri: string, role: string, warning: string])[] = [
    [server, role, ""],
    [server, missing, `svc: warning: role "${missing}" does not exist\n`],
    [uri.href, login, ""],
    [
      uri.href,
      role,
      `svc: warning: "${login}" may not become "${role}": grant "${role}" to "${login}";\n`,
    ],
    [unreachable, missing, ""],
    ["pglite://memory", missing, ""],
  ];
  await using folder = await programFolder();
  await withClient(
    server,
    (client) => client.query(`create role ${login} login password 'pw'; create role ${role}`),
  );
  try {
    for (const [dbUri, named, warning] of rows) {
      await t.step(`${named} at ${new URL(dbUri).hostname}`, async () => {
        const { code, stdout, stderr } = await folder.run(["token", `--role=${named}`], {
          SVC_DB_URI: dbUri,
          SVC_DB_SCHEMAS: "public",
          SVC_JWT_SECRET: "a secret of at least thirty-two bytes",
        });
        deepStrictEqual([code, stderr], [0, warning]);
        match(stdout, /^ey[\w-]+\.[\w-]+\.[\w-]+\n$/);
      });
    }
  } finally {
    await withClient(server, (client) => client.query(`drop role ${login}; drop role ${role}`));
  }
  strictEqual((await folder.run(["token"])).code, 1);
});
