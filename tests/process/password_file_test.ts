/** `db-password-file`: passwords that change while the service runs. */
import { strictEqual } from "node:assert/strict";
import { join } from "node:path";
import { eventually } from "../support/timing/eventually.ts";
import { engines } from "../support/database/engines.ts";
import { guardedFolder } from "../support/runner/guarded_folder.ts";
import { withClient } from "../support/database/postgres_client.ts";
import { startService } from "../support/server/process.ts";

Deno.test("db-password-file is read for each new connection, and again after a refusal", async () => {
  const database = await engines.pg({ name: "serving", roles: ["web_anon"] });
  await using folder = await guardedFolder("svc_password_");
  const file = join(folder.path, "password");
  const login = `svc_login_${crypto.randomUUID().replaceAll("-", "")}`;
  const run = (sql: string) => withClient(database.superuserUri!, (client) => client.query(sql));
  try {
    await run(
      `create role ${login} login noinherit password 'word_one'; grant web_anon to ${login}`,
    );
    const uri = new URL(database.uri);
    uri.username = login;
    uri.password = "of_the_uri";
    await Deno.writeTextFile(file, "not yet\n");
    await using service = await startService({
      "db-uri": uri.href,
      "db-password-file": file,
      "db-schemas": "api",
      "db-anon-role": "web_anon",
      "db-channel-enabled": false,
      "db-pool": 1,
    });
    const answers = () =>
      eventually("a request succeeds", async () => {
        const response = await service.fetch("GET /items");
        await response.body?.cancel();
        return response.status === 200;
      });
    await service.stderr.waitFor(/password authentication failed/);
    await Deno.writeTextFile(file, "word_one\n");
    await service.listening();
    await answers();
    await Deno.writeTextFile(file, "word_two");
    await run(`alter role ${login} password 'word_two'`);
    await run(
      `select pg_catalog.pg_terminate_backend(pid) from pg_catalog.pg_stat_activity
      where usename = '${login}'`,
    );
    await answers();
    await Deno.remove(file);
    await run(
      `select pg_catalog.pg_terminate_backend(pid) from pg_catalog.pg_stat_activity
      where usename = '${login}'`,
    );
    await eventually("a request fails", async () => {
      const response = await service.fetch("GET /items");
      await response.body?.cancel();
      return response.status === 503;
    });
    await service.stderr.waitFor(/could not read db-password-file: ENOENT/);
    strictEqual((await service.stop()).code, 0);
    strictEqual(
      service.stderr.all.some((line) => /word_one|word_two|of_the_uri/.test(line)),
      false,
    );
  } finally {
    await run(`drop owned by ${login}; drop role ${login}`).catch(() => {});
    await database.remove();
  }
});
