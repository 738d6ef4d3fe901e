import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { startTodos } from "../support/server/todos.ts";

const uris = 'expected a connection string such as "postgres://***@host:5432/database", ' +
  '"host=… dbname=…" or "pglite://memory"';

/** Lines of the file that are wrong, and the message. The unit tests have each option. */
const rows: readonly (readonly [key: string, value: string, problem: string])[] = [
  ["db-pol", "5", "unknown key; did you mean db-pool?"],
  ["db-plan-enabled", "13", "expected true or false, got 13"],
  [
    "db-pre-request",
    '".f"',
    'expected a function\'s name in quotes, such as "schema.name", got ".f"',
  ],
  // What looks like credentials is not logged.
  ["db-uri", '"tmp_db"', uris],
  [
    "dialect",
    '"nope"',
    'no such dialect (expected one of "svc", "pgrst", got "nope")',
  ],
  [
    "jwt-secret",
    '"hidden"',
    "The JWT secret must be at least 32 characters long. (expected text in quotes of at least 32 " +
    'bytes, a JSON Web Key (set), or "@" and the path of a file with it)',
  ],
  ["server-port", '"ten"', 'expected a whole number from 0 to 65535, got "ten"'],
];

Deno.test("a wrong value leaves the configuration as it was on reload", async () => {
  await using service = await startTodos({
    "db-max-rows": 1,
    "db-config": false,
  });
  const lines = (await Deno.readTextFile(service.configPath)).trimEnd().split("\n")
    .filter((line) => !line.startsWith("db-max-rows"));
  for (const [key, value, problem] of rows) {
    const kept = lines.filter((line) => !line.startsWith(`${key} =`));
    await Deno.writeTextFile(service.configPath, `${[...kept, `${key} = ${value}`].join("\n")}\n`);
    service.signal("SIGUSR2");
    const line = await service.stderr.waitFor(new RegExp(`Failed reloading config: .*: ${key}: `));
    strictEqual(
      line.replace(/^.*?Failed/, "Failed"),
      `Failed reloading config: Error in config ${service.configPath}:${
        kept.length + 1
      }: ${key}: ` +
        problem,
    );
    const response = await service.fetch("GET /todos?select=id");
    deepStrictEqual([response.status, (await response.json()).length], [200, 1], key);
  }
});
