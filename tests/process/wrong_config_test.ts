import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { startService } from "../support/server/process.ts";

const root = new URL("../../", import.meta.url).pathname;

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
  "db-channel": name("a channel's name"),
  "db-bookmark-cookie": bool,
  "db-channel-enabled": bool,
  "db-comment-tags": bool,
  "db-config": bool,
  "db-embedded-init": name("the path of an SQL file"),
  "db-password-file": name("the path of a file"),
  "db-extra-search-path": schemas,
  "db-hoisted-tx-settings": list("names of settings in quotes, separated by commas"),
  "db-max-rows": whole("of at least 0"),
  "db-plan-enabled": bool,
  "db-pool": whole("from 1 to 262143"),
  "db-pool-acquisition-timeout": seconds,
  "db-pool-automatic-recovery": bool,
  "db-pool-max-idletime": seconds,
  "db-pool-max-lifetime": seconds,
  "db-pre-config": routine,
  "db-pre-request": routine,
  "db-pipelining": bool,
  "db-prepared-statements": ['"maybe"', 'expected true, false or "auto", got "maybe"'],
  "db-read-only": bool,
  "db-safe-update": bool,
  "db-root-spec": routine,
  "db-replica-fallback": word(
    "Invalid db-replica-fallback. Check your configuration.",
    '"primary", "error"',
  ),
  "db-replica-max-lag": time,
  "db-replica-pool": whole("from 1 to 262143"),
  "db-replica-uri": [
    '"tmp_db"',
    'expected a connection string such as "postgres://user:password@host:5432/database", ' +
    '"host=… dbname=…" or "pglite://memory"',
  ],
  "db-replica-wait": time,
  "db-schema-watch": word(
    "Invalid db-schema-watch. Check your configuration.",
    '"notify", "auto", "poll"',
  ),
  "db-schemas": [
    '"api, pg_catalog"',
    "db-schemas does not allow schema: 'pg_catalog' (expected schemas in quotes, separated by " +
    'commas, got "api, pg_catalog")',
  ],
  "db-statement-timeout": time,
  "db-trace-application-name": bool,
  "db-tx-end": word(
    "Invalid transaction termination. Check your configuration.",
    '"commit", "commit-allow-override", "rollback", "rollback-allow-override"',
  ),
  "db-url-functions": list("names of functions in quotes, separated by commas"),
  "db-channel-uri": [
    '"tmp_db"',
    'expected a connection string such as "postgres://user:password@host:5432/database", ' +
    '"host=… dbname=…" or "pglite://memory"',
  ],
  "db-uri": [
    '"tmp_db"',
    'expected a connection string such as "postgres://user:password@host:5432/database", ' +
    '"host=… dbname=…" or "pglite://memory"',
  ],
  "dialect": word("no such dialect", '"svc", "pgrst"'),
  "etag-mode": word("Invalid etag-mode. Check your configuration.", '"off", "on", "required"'),
  "etag-version-columns": list("names of columns in quotes, separated by commas"),
  "idempotency-table": [
    '"keys"',
    'expected a table\'s name in quotes with its schema, such as "schema.name", got "keys"',
  ],
  "idempotency-ttl": [
    "0",
    'expected seconds of at least 1, or a text such as "500ms", "10s", "2m", got 0',
  ],
  "jwt-apikey-header": bool,
  "jwt-aud": [
    '"http://%%x"',
    "jwt-aud should be a string or a valid URI (expected an audience in quotes; with a colon in " +
    'it, a URI, got "http://%%x")',
  ],
  "jwt-cache-max-entries": ['"many"', 'expected a whole number, got "many"'],
  "jwt-claim-settings": bool,
  "jwt-cookie-name": ['"a b"', 'expected a cookie\'s name in quotes, got "a b"'],
  "jwt-cookie-origins": [
    '"null"',
    'expected origins in quotes, separated by commas, such as "https://example.com", got "null"',
  ],
  "jwt-issuer": ["5", "expected the issuer of tokens in quotes, got 5"],
  "jwt-issuers": [
    '\'[{"issuer":"a"}]\'',
    "issuer 1: without keys, issuer must be an https URL for OIDC Discovery",
  ],
  "jwt-jwks-url": [
    '"http://id.test"',
    "expected an https URL in quotes, without user, password and fragment, " +
    'got "http://id.test"',
  ],
  "jwt-revocations": routine,
  "jwt-role-claim-key": [
    '"role.other"',
    "failed to parse role-claim-key value (role.other) (expected a JSONPath in quotes such as " +
    '"$$.role", got "role.other")',
  ],
  "jwt-secret": [
    '"hidden"',
    "The JWT secret must be at least 32 characters long. (expected text in quotes of at least 32 " +
    'bytes, a JSON Web Key (set), or "@" and the path of a file with it)',
  ],
  ["server-port", '"ten"', 'expected a whole number from 0 to 65535, got "ten"'],
];

Deno.test("a wrong value leaves the configuration as it was on reload", async () => {
  await using service = await startService({
    "db-uri": "pglite://memory",
    "db-embedded-init": `${root}examples/todos/todos.sql`,
    "db-schemas": "api",
    "db-anon-role": "web_anon",
    "db-max-rows": 1,
    "db-config": false,
  });
  await service.listening();
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
