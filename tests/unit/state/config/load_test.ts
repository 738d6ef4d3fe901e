import { deepStrictEqual, strictEqual, throws } from "node:assert/strict";
import { loadConfig, makeOptionError } from "../../../../src/state/config/load.ts";
import { removedOptions } from "../../../../src/state/config/removed_options.ts";
import type { Config } from "../../../../src/state/config/options.ts";
import { wingOptions } from "../../../../src/process/wings.ts";

interface Sources {
  readonly file?: string | null;
  readonly environment?: Readonly<Record<string, string>>;
  readonly files?: Readonly<Record<string, string>>;
}

function load({ file = null, environment = {}, files = {} }: Sources): Config {
  return loadConfig({
    wingOptions,
    file: file === null ? null : { path: "svc.conf", text: file },
    environment,
    readFile: (path) => new TextEncoder().encode(files[path]),
  });
}

const needed = 'db-uri = "postgresql://"\ndb-schemas = "public"\n';
const neededVariables = { SVC_DB_URI: "postgresql://", SVC_DB_SCHEMAS: "public" };

/** What differs from the needed ones and the defaults. */
interface PrecedenceRow {
  readonly title: string;
  readonly file?: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly files?: Readonly<Record<string, string>>;
  readonly expected: Partial<Config>;
}

function bytesOf(base64: string): Uint8Array {
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
}

const precedence: readonly PrecedenceRow[] = [
  {
    title: "prefers the environment to the file",
    file: 'db-pool = 5\nlog-level = "crit"',
    environment: { SVC_DB_POOL: "6" },
    expected: { dbPool: 6, logLevel: "crit" },
  },
  {
    title: "prefers a key in the file to its alias in the environment",
    file: "db-max-rows = 1",
    environment: { SVC_MAX_ROWS: "2" },
    expected: { dbMaxRows: 1 },
  },
  {
    title: "prefers a key to its alias, wherever it stands in the file",
    file: 'max-rows = 2\ndb-max-rows = 1\ndb-pre-request = "a"\npre-request = "b"',
    expected: { dbMaxRows: 1, dbPreRequest: { schema: null, name: "a" } },
  },
  {
    title: "prefers db-pool-timeout to its newer spelling",
    file: "db-pool-max-idletime = 1",
    environment: { SVC_DB_POOL_TIMEOUT: "2" },
    expected: { dbPoolMaxIdletime: 2 },
  },
  {
    title: "falls back to the newer spelling of db-pool-timeout",
    file: "db-pool-max-idletime = 1",
    expected: { dbPoolMaxIdletime: 1 },
  },
  {
    title: "takes aliases from the file",
    file: `max-rows = 1000
      db-pool-timeout = 5
      pre-request = "f"
      root-spec = "s.g"
      role-claim-key = "$$.aliased"
      secret-is-base64 = true
      server-proxy-uri = "https://example.com"`,
    expected: {
      dbMaxRows: 1000,
      dbPoolMaxIdletime: 5,
      dbPreRequest: { schema: null, name: "f" },
      dbRootSpec: { schema: "s", name: "g" },
      jwtRoleClaimKey: "$.aliased",
      jwtSecretIsBase64: true,
      openapiServerProxyUri: "https://example.com",
    },
  },
  {
    title: "takes aliases from the environment",
    environment: { SVC_MAX_ROWS: "7", SVC_SERVER_PROXY_URI: "http://h" },
    expected: { dbMaxRows: 7, openapiServerProxyUri: "http://h" },
  },
  {
    title: "lets an empty variable hide the file's value",
    file: 'log-level = "crit"\ndb-max-rows = 5\ndb-tx-end = "rollback"',
    environment: { SVC_LOG_LEVEL: "", SVC_DB_MAX_ROWS: "", SVC_DB_TX_END: "" },
    expected: { logLevel: "error", dbMaxRows: null, dbTxEnd: "commit" },
  },
  {
    title: "asks the alias when the key is empty",
    file: 'max-rows = 5\ndb-max-rows = ""',
    expected: { dbMaxRows: 5 },
  },
  {
    title: "takes an empty db-extra-search-path as none",
    environment: { SVC_DB_EXTRA_SEARCH_PATH: "" },
    expected: { dbExtraSearchPath: [] },
  },
  {
    title: "lets the admin server bind to server-host",
    file: 'server-host = "localhost"',
    expected: { serverHost: "localhost", adminServerHost: "localhost" },
  },
  {
    title: "keeps an own host of the admin server",
    file: 'server-host = "localhost"\nadmin-server-host = "::1"',
    expected: { serverHost: "localhost", adminServerHost: "::1" },
  },
  {
    title: "lets both ports be any free one",
    file: "server-port = 0\nadmin-server-port = 0",
    expected: { serverPort: 0, adminServerPort: 0 },
  },
  {
    title: "ignores variables that name no option",
    environment: { SVC_NOT_EXISTING: "x", SVC_: "y", PGHOST: "z", SVC_APP_SETTINGS_: "" },
    expected: {},
  },
  {
    title: "takes variables literally",
    environment: { SVC_DB_ANON_ROLE: "$(HOME)$$\\n" },
    expected: { dbAnonRole: "$(HOME)$$\\n" },
  },
  {
    title: "reads application settings in all their forms",
    file: `app.settings.one = "1"
      "app.settings.two" = ""
      app.settings.three = "3" # all`,
    environment: { SVC_APP_SETTINGS_six: "6 $(x)" },
    expected: {
      appSettings: [
        ["app.settings.one", "1"],
        ["app.settings.two", ""],
        ["app.settings.three", "3"],
        ["app.settings.six", "6 $(x)"],
      ],
    },
  },
  {
    title: "prefers an application setting of the environment in any letter case",
    file: 'app.settings.region = "eu"\napp.settings.other = "x"',
    environment: { SVC_APP_SETTINGS_REGION: "us" },
    expected: { appSettings: [["app.settings.REGION", "us"], ["app.settings.other", "x"]] },
  },
  {
    title: "decodes a base64 secret in the standard alphabet",
    file: `jwt-secret = "${"+/".repeat(21)}8="\njwt-secret-is-base64 = true`,
    expected: { jwtSecretIsBase64: true, jwtSecret: bytesOf(`${"+/".repeat(21)}8=`) },
  },
  {
    title: "decodes a base64 secret of a file in the URL alphabet, padded by a dot",
    file: 'jwt-secret = "@f"\nsecret-is-base64 = true',
    files: { f: ` ${"-_".repeat(21)}8. \n` },
    expected: { jwtSecretIsBase64: true, jwtSecret: bytesOf(`${"+/".repeat(21)}8=`) },
  },
];

for (const { title, file = "", environment, files, expected } of precedence) {
  Deno.test(`loadConfig ${title}`, () => {
    const defaults = load({ environment: neededVariables });
    deepStrictEqual(load({ file: needed + file, environment, files }), {
      ...defaults,
      ...expected,
    });
  });
}

Deno.test("makeOptionError names where the value of an option stands", () => {
  const sources = {
    file: { path: "svc.conf", text: `${needed}role-claim-key = "$.["` },
    environment: { SVC_JWT_SECRET: "x" },
    readFile: () => new Uint8Array(),
  };
  const message = (key: string) => makeOptionError(sources, { key, problem: "is wrong" }).message;
  strictEqual(message("jwt-role-claim-key"), "svc.conf:3: role-claim-key: is wrong");
  strictEqual(message("jwt-secret"), "SVC_JWT_SECRET (environment): is wrong");
  strictEqual(message("jwt-aud"), "svc.conf:3: jwt-aud: is wrong");
  strictEqual(
    makeOptionError({ ...sources, file: null }, { key: "jwt-aud", problem: "is wrong" }).message,
    "SVC_JWT_AUD (environment): is wrong",
  );
});

const uriMissing = (state: string) =>
  `required, but ${state}: db-uri, for example ` +
  'db-uri = "postgres://authenticator:secret@localhost:5432/shop"';
const schemasMissing = 'required, but not set: db-schemas, for example db-schemas = "api"';

const failures: readonly (readonly [title: string, sources: Sources, message: string])[] = [
  [
    "a missing db-uri, at the end of the file",
    { file: 'db-schemas = "public"\n# end\n\n' },
    uriMissing("not set"),
  ],
  ["an empty file", { file: "" }, `${schemasMissing}\n${uriMissing("not set")}`],
  ["a missing db-uri without a file", {
    environment: { SVC_DB_SCHEMA: "public" },
  }, uriMissing("not set")],
  [
    "an empty db-uri of the file",
    { file: '\ndb-uri = ""', environment: { SVC_DB_SCHEMAS: "a" } },
    uriMissing("empty"),
  ],
  [
    "an empty db-uri of the environment",
    { file: needed, environment: { SVC_DB_URI: "" } },
    uriMissing("empty"),
  ],
  [
    "a wrong value of the environment",
    { file: needed, environment: { SVC_DB_POOL: "ten\nx" } },
    'SVC_DB_POOL (environment): expected a whole number from 1 to 262143, got "ten\\nx"',
  ],
  [
    "a wrong value of an alias by the alias",
    { file: needed, environment: { SVC_MAX_ROWS: "-1" } },
    'SVC_MAX_ROWS (environment): expected a whole number of at least 0, got "-1"',
  ],
  [
    "a wrong value of an alias by the alias, in the file",
    { file: needed + 'max-rows = "many"' },
    'svc.conf:3: max-rows: expected a whole number of at least 0, got "many"',
  ],
  [
    "an admin port that is the server's",
    { file: needed + "\nadmin-server-port = 3000" },
    "svc.conf:4: admin-server-port: admin-server-port cannot be the same as server-port " +
    "(expected another port than 3000)",
  ],
  [
    "a path for agents that is the health check's",
    { file: needed + '\nserver-health-path = "/a/b"\nmcp-path = "/a/b"' },
    "svc.conf:5: mcp-path: mcp-path cannot be the same as server-health-path " +
    '(expected another path than "/a/b")',
  ],
  [
    "a prefix of live queries that is the path for agents",
    { file: needed + '\nlive-path = "/a"\nmcp-path = "/a"' },
    "svc.conf:4: live-path: live-path cannot be the same as mcp-path " +
    '(expected another path than "/a")',
  ],
  [
    "a prefix of live queries above the health check",
    { file: needed + '\nlive-path = "/a"\nserver-health-path = "/a/b"' },
    "svc.conf:4: live-path: live-path cannot be above server-health-path " +
    '(expected another path than "/a")',
  ],
  [
    "standbys of an embedded database",
    { file: 'db-uri = "pglite://memory"\ndb-schemas = "a"\ndb-replica-uri = "postgres://h/d"' },
    "svc.conf:3: db-replica-uri: an embedded database has no standbys (expected no db-replica-uri)",
  ],
  [
    "an application setting with a dash",
    { file: needed + 'app.settings.a-b = "x"' },
    "svc.conf:3: app.settings.a-b: not a setting's name (expected app.settings. and one word of " +
    "letters, digits and underscores)",
  ],
  [
    "an application setting of two words",
    { file: needed + 'app.settings.a.b = "x"' },
    "svc.conf:3: app.settings.a.b: not a setting's name (expected app.settings. and one word of " +
    "letters, digits and underscores)",
  ],
  [
    "an application setting of the environment with a dash",
    { file: needed, environment: { "SVC_APP_SETTINGS_A-B": "x" } },
    "SVC_APP_SETTINGS_A-B (environment): not a setting's name (expected app.settings. and one " +
    "word of letters, digits and underscores)",
  ],
  [
    "an application setting that is no text",
    { file: needed + "app.settings.a = 5" },
    "svc.conf:3: app.settings.a: expected text in quotes, got 5",
  ],
  [
    "a secret that is no base64, without showing it",
    { file: needed + `jwt-secret = "${"s3cr3t_".repeat(5)}"\njwt-secret-is-base64 = true` },
    "svc.conf:3: jwt-secret: expected padded base64, because jwt-secret-is-base64 is true",
  ],
  [
    "a short secret after decoding",
    { file: needed + 'jwt-secret = "c2hvcnQ="', environment: { SVC_JWT_SECRET_IS_BASE64: "true" } },
    "svc.conf:3: jwt-secret: The JWT secret must be at least 32 characters long. (expected text " +
    'in quotes of at least 32 bytes, a JSON Web Key (set), or "@" and the path of a file with it)',
  ],
  ...["AAA", "A===", "====", "AA=A", "AA A", "AA==AA=="].map((value) =>
    [
      `the base64 ${JSON.stringify(value)}`,
      { file: `${needed}jwt-secret = "${value}"\njwt-secret-is-base64 = true` },
      "svc.conf:3: jwt-secret: expected padded base64, because jwt-secret-is-base64 is true",
    ] as const
  ),
];

for (const [title, sources, message] of failures) {
  Deno.test(`loadConfig rejects ${title}`, () => {
    throws(() => load(sources), { name: "ConfigError", message });
  });
}

Deno.test("loadConfig rejects all problems at once, in the order of the file", () => {
  const sources: Sources = {
    file: `db-pol = 1
db-schemas = "api"
db-pool = "ten"
app.settings.a-b = "x"
log-level = "loud"`,
    environment: { SVC_DB_MAX_ROWS: "-1" },
  };
  throws(() => load(sources), {
    message: `svc.conf:1: db-pol: unknown key; did you mean db-pool?
svc.conf:3: db-pool: expected a whole number from 1 to 262143, got "ten"
svc.conf:4: app.settings.a-b: not a setting's name (expected app.settings. and one word of letters, digits and underscores)
svc.conf:5: log-level: Invalid logging level. Check your configuration. (expected one of "crit", "error", "warn", "info", "debug", got "loud")
SVC_DB_MAX_ROWS (environment): expected a whole number of at least 0, got "-1"
${uriMissing("not set")}`,
  });
});

Deno.test("loadConfig in pgrst rejects the first problem alone", () => {
  const file = 'dialect = "pgrst"\ndb-tx-end = "never"\nlog-level = "loud"';
  throws(() => load({ file }), (error: Error) => !error.message.includes("\n"));
});

const misspelt: readonly (readonly [line: string, key: string, suggestion: string | null])[] = [
  ["db-shemas = 1", "db-shemas", "db-schemas"],
  ["db_uri = 1", "db_uri", "db-uri"],
  ["DB-POOL = 1", "DB-POOL", "db-pool"],
  ["db.uri = 1", "db.uri", "db-uri"],
  ["maxrows = 1", "maxrows", "max-rows"],
  ["app.setting.x = 1", "app.setting.x", "app.settings.x"],
  ["server_port = 1", "server_port", "server-port"],
  ["frobnicate = 1", "frobnicate", null],
  ["__proto__ = 1", "__proto__", null],
  ["constructor = 1", "constructor", null],
  [`${"a".repeat(10_000)} = 1`, "a".repeat(10_000), null],
  ["[db]", "db", null],
  ["[[app.settings]]", "app.settings", null],
  ["app.settings = 1", "app.settings", null],
  ["app = 1", "app", null],
];

for (const [line, key, suggestion] of misspelt) {
  Deno.test(`loadConfig rejects the unknown key ${key.slice(0, 40)}`, () => {
    const question = suggestion === null ? "" : `; did you mean ${suggestion}?`;
    throws(() => load({ file: `${needed}${line}` }), {
      name: "ConfigError",
      message: `svc.conf:3: ${key}: unknown key${question}`,
    });
  });
}

for (const [key, advice] of removedOptions) {
  Deno.test(`loadConfig rejects ${key}, which earlier versions had, wherever it is set`, () => {
    const problem = `this option no longer exists; ${advice}`;
    throws(() => load({ file: `${needed}${key} = "1"` }), {
      message: `svc.conf:3: ${key}: ${problem}`,
    });
    const variable = `SVC_${key.replaceAll("-", "_").toUpperCase()}`;
    throws(() => load({ environment: { ...neededVariables, [variable]: "1" } }), {
      message: `${variable} (environment): ${problem}`,
    });
  });
}
