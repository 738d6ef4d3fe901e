import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { type OptionKey, rows } from "../../src/config/options.ts";
import { startService } from "../support/server/process.ts";
import { programCommand } from "../support/server/program_command.ts";

const bool = ["13", "expected true or false, got 13"] as const;
const list = (of: string) => ['","', `has an empty item (expected ${of}, got ",")`] as const;
const whole = (range: string) => ['"ten"', `expected a whole number ${range}, got "ten"`] as const;
const name = (what: string) => ["5", `expected ${what} in quotes, got 5`] as const;
const mode = (key: string) =>
  [
    '"800"',
    `Invalid ${key}: not an octal (expected octal digits in quotes from "600" to "777", got "800")`,
  ] as const;
const word = (complaint: string, words: string) =>
  ['"nope"', `${complaint} (expected one of ${words}, got "nope")`] as const;
const path = ["1", "expected a path in quotes of at most 107 bytes, got 1"] as const;
const host = [
  '"a b"',
  'expected a host name, an address or one of "*", "*4", "!4", "*6", "!6", in quotes, got "a b"',
] as const;
const routine = [
  '".f"',
  'expected a function\'s name in quotes, such as "schema.name", got ".f"',
] as const;
const seconds = whole("from 0 to 2147483");
const size = ['"big"', 'expected bytes, or a text such as "64k", "10m", "1g", got "big"'] as const;
const time = [
  '"soon"',
  'expected seconds, or a text such as "500ms", "10s", "2m", got "soon"',
] as const;
const schemas = list("schemas in quotes, separated by commas");

/** A value that each option refuses, as it stands in the file, and what is said of it. */
const wrong: Readonly<Record<OptionKey, readonly [value: string, problem: string]>> = {
  "admin-allowed-hosts": list("host names in quotes, separated by commas"),
  "admin-console-enabled": bool,
  "admin-server-host": host,
  "admin-sign-in": bool,
  "admin-token": [
    '"short"',
    'expected printable ASCII in quotes of at least 32 characters, or "@" and the path of a file ' +
    "with it",
  ],
  "admin-server-port": whole("from 0 to 65535"),
  "admin-server-unix-socket": path,
  "admin-server-unix-socket-mode": mode("admin-server-unix-socket-mode"),
  "batch-max-bytes": size,
  "batch-max-operations": whole("of at least 0"),
  "batch-timeout": time,
  "client-error-verbosity": word(
    "Invalid client-error-verbosity. Check your configuration.",
    '"verbose", "minimal", "advise"',
  ),
  "db-aggregates-enabled": bool,
  "db-anon-role": name("a role's name"),
  "db-capabilities": [
    '"-lsn"',
    'expected "-notify" alone (remove other parts, which have no use now), got "-lsn"',
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
  "db-relationships": [
    '"v primaryKey"',
    'character 3: expected "primaryKey", "unique" or "foreignKey" (expected keys in quotes, such as ' +
    '"api.v foreignKey (a) references api.t (id)", got "v primaryKey")',
  ],
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
  "jwt-secret-is-base64": bool,
  "jwt-skew": [
    "301",
    'expected seconds from 0 to 300, or a text such as "500ms", "10s", "2m", got 301',
  ],
  "log-format": word("Invalid log-format. Check your configuration.", '"text", "json"'),
  "log-level": word(
    "Invalid logging level. Check your configuration.",
    '"crit", "error", "warn", "info", "debug"',
  ),
  "log-query": bool,
  "log-findings": bool,
  "log-query-string": bool,
  "openapi-mode": word(
    "Invalid openapi-mode. Check your configuration.",
    '"follow-privileges", "ignore-privileges", "disabled"',
  ),
  "openapi-security-active": bool,
  "openapi-server-proxy-uri": [
    '"h"',
    "Malformed proxy uri, a correct example: https://example.com:8443/basePath (expected an http " +
    'or https URI in quotes of host, port and path, got "h")',
  ],
  "openapi-version": word("Invalid openapi-version. Check your configuration.", '"2.0", "3.1"'),
  "server-body-timeout": time,
  "server-cors-allowed-origins": [
    '"*"',
    'expected origins in quotes, separated by commas, such as "https://example.com", got "*"',
  ],
  "db-anon-statement-timeout": time,
  "db-max-cost": ['"much"', 'expected a whole number of at least 0, got "much"'],
  "live-interval": [
    '"soon"',
    'expected seconds from 0.01 to 2, or a text such as "500ms", "10s", "2m", got "soon"',
  ],
  "live-max-memory": [
    '"big"',
    'expected bytes of at least 1048576, or a text such as "64k", "10m", "1g", ' +
    'got "big"',
  ],
  "live-max-rows": whole("from 1 to 1000000"),
  "live-max-streams": whole("from 1 to 1000000"),
  "live-path": [
    '"/"',
    'expected a path in quotes that is not below /rpc, such as "/live", got "/"',
  ],
  "live-recheck": [
    '"soon"',
    'expected seconds from 1 to 86400, or a text such as "500ms", "10s", "2m", got "soon"',
  ],
  "mcp-allowed-origins": list(
    'origins in quotes, separated by commas, such as "https://example.com"',
  ),
  "mcp-authorization-servers": list(
    'URIs in quotes, separated by commas, such as "https://id.example.com"',
  ),
  "mcp-functions": list("functions in quotes"),
  "mcp-max-rows": whole("from 1 to 1000000"),
  "mcp-path": ['"/"', 'expected a path in quotes that is not below /rpc, such as "/mcp", got "/"'],
  "mcp-resource": ['"mcp"', 'expected an http or https URI in quotes, got "mcp"'],
  "mcp-roles": list("roles in quotes"),
  "mcp-timeout": [
    '"soon"',
    'expected seconds of at least 0.001, or a text such as "500ms", "10s", "2m", got "soon"',
  ],
  "mcp-tools": list(
    "names in quotes, separated by commas, of list_relations, describe_relation, query, " +
      "call_function",
  ),
  "mcp-write": list("relations and functions in quotes"),
  "rate-limits": [
    '"a: 5/1w by ip"',
    'character 6: expected a time such as "10s", "1m", "1h" or "1d" (expected policies in quotes, ' +
    'such as "anon: 60/1m by ip for web_anon", got "a: 5/1w by ip")',
  ],
  "server-compression": [
    '"deflate"',
    'expected codings in quotes, separated by commas: "zstd", "br", "gzip", got "deflate"',
  ],
  "server-health-path": [
    '"/health"',
    "expected a path in quotes of two or more segments that is not below /rpc, such as " +
    '"/-/health", got "/health"',
  ],
  "server-host": host,
  "server-header-timeout": time,
  "server-idle-timeout": time,
  "server-shutdown-wait-period": time,
  "server-max-body-size": size,
  "server-max-connections": whole("of at least 0"),
  "server-max-header-size": size,
  "server-max-query-body": size,
  "server-max-requests": whole("of at least 0"),
  "server-query-method": bool,
  "server-max-url-length": size,
  "server-link-header": word(
    "Invalid server-link-header. Check your configuration.",
    '"cursor", "all", "none"',
  ),
  "server-path-prefix": [
    '"/rest/"',
    'expected a path in quotes without a slash at its end, such as "/rest/v1", got "/rest/"',
  ],
  "server-port": whole("from 0 to 65535"),
  "server-request-id-header": ['"a:"', 'expected a header\'s name in quotes, got "a:"'],
  "server-response-headers": [
    `'{"X-A": "1\\r\\n2"}'`,
    "the value of X-A has a character that no header may have (expected a JSON object of header " +
    'names and values, such as {"X-Frame-Options": "DENY"}, got "{\\"X-A\\": \\"1\\\\r\\\\n2\\"}")',
  ],
  "server-request-timeout": time,
  "server-reuseport": bool,
  "server-security-headers": bool,
  "server-spool-size": ['"big"', 'expected bytes, or a text such as "64k", "10m", "1g", got "big"'],
  "server-timing-enabled": bool,
  "server-trace-header": ['"a:"', 'expected a header\'s name in quotes, got "a:"'],
  "server-trusted-proxies": [
    '"10.0.0.0/33"',
    'expected addresses or ranges in quotes, separated by commas, such as "10.0.0.0/8", ' +
    'got "10.0.0.0/33"',
  ],
  "server-unix-socket": path,
  "server-unix-socket-mode": mode("server-unix-socket-mode"),
  "tenant-by": [
    '"hosts"',
    'other ways need createTenantHandler (expected one of "host", "path", got "hosts")',
  ],
  "tenant-claim": ['"tenant"', 'expected a JSONPath in quotes, such as "$$.tenant", got "tenant"'],
  "tenant-host-pattern": [
    '"api.example.com"',
    'expected a host name in quotes with {tenant} once, such as "{tenant}.api.example.com", got ' +
    '"api.example.com"',
  ],
  "tenant-max-requests": whole("of at least 1"),
  "tenants": ['"tenants"', 'expected a folder with a slash, such as "./tenants", got "tenants"'],
  "tenants-db-pool": whole("from 2 to 262143"),
  "tenants-max-loaded": whole("of at least 1"),
  "server-workers": ['"many"', 'expected a whole number from 1 to 256 or "auto", got "many"'],
  "url-use-legacy-target-names": bool,
};

const root = new URL("../../", import.meta.url).pathname;

const keys = rows.map(([key]) => key);

/** What starts, with a line in it to be replaced: the number of that line, and the whole text. */
function fileWith(key: OptionKey, lines: readonly string[]): readonly [number, string] {
  const kept = lines.filter((line) => !line.startsWith(`${key} =`));
  return [kept.length + 1, [...kept, `${key} = ${wrong[key][0]}`, ""].join("\n")];
}

/** The dialect decides how the others are read: its wrong value is the only problem that is told. */
const groups: readonly (readonly OptionKey[])[] = [
  keys.filter((key) => key !== "dialect"),
  ["dialect"],
];

Deno.test("each option refuses a value in one line, and the process ends with 1", async () => {
  const folder = await Deno.makeTempDir({ prefix: "svc_wrong_" });
  const required = ['db-uri = "pglite://memory"', 'db-schemas = "api"'];
  try {
    for (const group of groups) {
      const kept = required.filter((line) => !group.some((key) => line.startsWith(`${key} =`)));
      const lines = [...kept, ...group.map((key) => `${key} = ${wrong[key][0]}`), ""];
      await Deno.writeTextFile(`${folder}/a.conf`, lines.join("\n"));
      const [command, ...args] = programCommand(["a.conf"]);
      const { code, stdout, stderr } = await new Deno.Command(command, {
        args,
        cwd: folder,
      }).output();
      const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
      const told = group.map((key, at) =>
        `svc: a.conf:${kept.length + at + 1}: ${key}: ${wrong[key][1]}`
      );
      deepStrictEqual({ code, stdout: decode(stdout) }, { code: 1, stdout: "" });
      deepStrictEqual(decode(stderr).trimEnd().split("\n"), told);
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("each option's wrong value leaves the configuration as it was on reload", async () => {
  await using service = await startService({
    "db-uri": "pglite://memory",
    "db-embedded-init": `${root}examples/todos/todos.sql`,
    "db-schemas": "api",
    "db-anon-role": "web_anon",
    "db-max-rows": 1,
    "db-config": false,
  });
  await service.listening();
  const lines = (await Deno.readTextFile(service.configPath)).trimEnd().split("\n");
  for (const key of keys) {
    const [line, text] = fileWith(key, lines.filter((each) => !each.startsWith("db-max-rows")));
    await Deno.writeTextFile(service.configPath, text);
    service.signal("SIGUSR2");
    const told = await service.stderr.waitFor(new RegExp(`Failed reloading config: .*: ${key}: `));
    // What looks like credentials is not logged.
    const problem = wrong[key][1].replace("//user:password@", "//***@");
    strictEqual(
      told.replace(/^.*?Failed/, "Failed"),
      `Failed reloading config: Error in config ${service.configPath}:${line}: ${key}: ${problem}`,
    );
    const response = await service.fetch("GET /todos?select=id");
    deepStrictEqual([response.status, (await response.json()).length], [200, 1], key);
  }
});
