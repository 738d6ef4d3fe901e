import { deepStrictEqual, match, strictEqual, throws } from "node:assert/strict";
import {
  changedStartupOptions,
  keepStartupOptions,
  loadConfig,
} from "../../../../src/state/config/load.ts";
import { type Config, rowsOf } from "../../../../src/state/config/options.ts";
import { ofDialect } from "../../../../src/state/config/options/option.ts";
import { dumpConfig } from "../../../../src/state/config/print.ts";
import { dialects, pgrstDialect, svcDialect } from "../../../../src/base/dialect.ts";
import { wingOptions } from "../../../../src/process/wings.ts";

const rows = rowsOf({ wingOptions });

function load(
  text: string,
  environment: Readonly<Record<string, string>> = {},
  database: Readonly<Record<string, string>> = {},
): Config {
  return loadConfig({
    wingOptions,
    file: { path: "a.conf", text },
    environment,
    readFile: () => new Uint8Array(),
  }, new Map(Object.entries(database)));
}

const pgrst = 'dialect = "pgrst"\n';

Deno.test("dialects have a default for every option that leaves it to them", () => {
  for (const dialect of dialects.values()) {
    for (const [key, option] of rows) {
      if (option.default === ofDialect) strictEqual(key in dialect.defaults, true, key);
    }
  }
});

const chosen:
  readonly (readonly [text: string, environment: Record<string, string>, name: string])[] = [
    [pgrst, {}, "pgrst"],
    ["", { SVC_DIALECT: "pgrst" }, "pgrst"],
    [
      'dialect = "pgrst"\ndb-uri = "pglite://memory"\ndb-schemas = "a"',
      { SVC_DIALECT: "svc" },
      "svc",
    ],
    ['# dialect = "pgrst"\ndb-uri = "pglite://memory"\ndb-schemas = "a"', {}, "svc"],
    ['dialect = ""\ndb-uri = "pglite://memory"\ndb-schemas = "a"', {}, "svc"],
  ];

for (const [text, environment, name] of chosen) {
  Deno.test(`loadConfig finds ${name} in ${JSON.stringify(text)} and ${JSON.stringify(environment)}`, () => {
    strictEqual(load(text, environment).dialect.name, name);
  });
}

/** What PostgREST makes of values; the last one of each is what svc would refuse. */
const lenient: readonly (readonly [binding: string, field: keyof Config, value: unknown])[] = [
  ["db-max-rows = true", "dbMaxRows", null],
  ['db-pool = "10"', "dbPool", 10],
  ["db-pool = 10.5", "dbPool", 10],
  ["db-pool = 1e1", "dbPool", 10],
  ['db-pool = "ten"', "dbPool", 10],
  ['db-max-rows = "ten"\nmax-rows = 7', "dbMaxRows", 7],
  ["db-channel-enabled = 13", "dbChannelEnabled", true],
  ['db-channel-enabled = "0"', "dbChannelEnabled", false],
  ['db-prepared-statements = "FALSE"', "dbPreparedStatements", false],
  ['jwt-secret-is-base64 = "\\"true\\""', "jwtSecretIsBase64", true],
  ['jwt-secret-is-base64 = "2"', "jwtSecretIsBase64", true],
  ['db-plan-enabled = "yes"', "dbPlanEnabled", false],
  ["db-plan-enabled = on", "dbPlanEnabled", true],
  ["db-anon-role = false", "dbAnonRole", "Bool False"],
  ["db-anon-role = 5", "dbAnonRole", "Number 5.0"],
  ["app.settings.test = false", "appSettings", [["app.settings.test", "Bool False"]]],
  ['log-query = "main-query"', "logQuery", false],
  ['server-cors-allowed-origins = "*"', "serverCorsAllowedOrigins", ["*"]],
  ["not-a-key = 1", "dbPool", 10],
  ['db-channel = ""', "dbChannel", "pgrst"],
  ["db-pool = 5\ndb-pool = 6", "dbPool", 6],
];

for (const [binding, field, value] of lenient) {
  Deno.test(`loadConfig in pgrst reads ${JSON.stringify(binding)}`, () => {
    deepStrictEqual(load(pgrst + binding)[field], value);
  });
}

Deno.test("loadConfig in pgrst needs nothing, and has the defaults of that dialect", () => {
  const { dbUri, dbSchemas, serverHost, adminServerHost, dbChannel } = load(pgrst);
  deepStrictEqual({ dbUri, dbSchemas, serverHost, adminServerHost, dbChannel }, {
    dbUri: "postgresql://",
    dbSchemas: ["public"],
    serverHost: "!4",
    adminServerHost: "!4",
    dbChannel: "pgrst",
  });
});

/** What is fatal in PostgREST stays fatal. */
const fatal: readonly (readonly [binding: string, message: RegExp])[] = [
  ['db-tx-end = "never"', /Invalid transaction termination\. Check your configuration\./],
  ['log-level = "loud"', /Invalid logging level\. Check your configuration\./],
  ['openapi-mode = "x"', /Invalid openapi-mode\. Check your configuration\./],
  [
    'client-error-verbosity = "advise"',
    /Invalid client-error-verbosity\. Check your configuration\. \(expected one of "verbose", "minimal", got "advise"\)/,
  ],
  ['client-error-verbosity = "x"', /Invalid client-error-verbosity\. Check your configuration\./],
  [
    'openapi-server-proxy-uri = "htp:/@@localhorst.invalid"',
    /Malformed proxy uri, a correct example/,
  ],
  ['jwt-aud = "http://%%localhorst.invalid"', /jwt-aud should be a string or a valid URI/],
  ['jwt-role-claim-key = "role.other"', /failed to parse role-claim-key value \(role\.other\)/],
  ['server-unix-socket-mode = "800"', /Invalid server-unix-socket-mode: not an octal/],
  [
    'server-unix-socket-mode = "599"',
    /Invalid server-unix-socket-mode: needs to be between 600 and 777/,
  ],
  ["admin-server-port = 3000", /admin-server-port cannot be the same as server-port/],
  ['db-schemas = "a, pg_catalog"', /db-schemas does not allow schema: 'pg_catalog'/],
  ['jwt-secret = "short"', /The JWT secret must be at least 32 characters long\./],
];

for (const [binding, message] of fatal) {
  Deno.test(`loadConfig in pgrst rejects ${binding}`, () => {
    throws(() => load(pgrst + binding), { name: "ConfigError", message });
  });
}

Deno.test("loadConfig in pgrst reads PGRST_ variables, and SVC_DIALECT alone of the others", () => {
  const environment = {
    PGRST_DB_SCHEMA: "a, b",
    PGRST_APP_SETTINGS_x: "1",
    PGRST_JWT_SECRET: "$$".repeat(16),
    SVC_DB_ANON_ROLE: "nobody",
    PGRST_DB_ANON_ROLE: "",
    SVC_DIALECT: "pgrst",
  };
  const config = load('db-anon-role = "hidden"\n', environment);
  deepStrictEqual(config.dbSchemas, ["a", "b"]);
  deepStrictEqual(config.appSettings, [["app.settings.x", "1"]]);
  strictEqual(config.dbAnonRole, null);
  // Variables are taken as they are.
  strictEqual(new TextDecoder().decode(config.jwtSecret!), "$$".repeat(16));
});

const defaultDump = dumpConfig(load(pgrst));

Deno.test("dumpConfig in pgrst writes that dialect's defaults", () => {
  const others = dumpConfig(load('db-uri = "postgresql://"\ndb-schemas = "public"\n')).split("\n");
  deepStrictEqual(defaultDump.split("\n").filter((line) => !others.includes(line)), [
    'admin-server-host = "!4"',
    'db-channel = "pgrst"',
    'db-hoisted-tx-settings = "statement_timeout,plan_filter.statement_cost_limit,default_transaction_isolation"',
    'dialect = "pgrst"',
    'server-host = "!4"',
  ]);
});

/** Bindings, and what of the dump is not as in the default one. */
const dumped: readonly (readonly [bindings: string, lines: readonly string[]])[] = [
  ['db-schemas = "multi,   tenant,setup"', ['db-schemas = "multi,tenant,setup"']],
  ['db-schemas = "v2<v1 ,setup"', ['db-schemas = "v2 < v1,v1,setup"']],
  ["app.settings.test = false", ['app.settings.test = "Bool False"']],
  ["app.settings.test = 5", ['app.settings.test = "Number 5.0"']],
  ['app {\n settings { tier = "gold" }\n}', ['app.settings.tier = "gold"']],
  ['db-channel-enabled = "1"\ndb-prepared-statements = "0"\njwt-secret-is-base64 = "2"', [
    "db-prepared-statements = false",
    "jwt-secret-is-base64 = true",
  ]],
  ['db-prepared-statements = "FALSE"\njwt-secret-is-base64 = "\\"true\\""', [
    "db-prepared-statements = false",
    "jwt-secret-is-base64 = true",
  ]],
  [
    'max-rows = 1000\ndb-pool-timeout = 5\ndb-schema = "x"\npre-request = "f"\n' +
    'root-spec = "s.g"\nrole-claim-key = "$$.aliased"\nsecret-is-base64 = true',
    [
      "db-max-rows = 1000",
      "db-pool-max-idletime = 5",
      'db-pre-request = "f"',
      'db-root-spec = "s.g"',
      'db-schemas = "x"',
      'jwt-role-claim-key = "$$.aliased"',
      "jwt-secret-is-base64 = true",
    ],
  ],
  ['server-proxy-uri = "https://a/b"', ['openapi-server-proxy-uri = "https://a/b"']],
  ['jwt-secret = "c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0c2U="\nsecret-is-base64 = true', [
    'jwt-secret = "c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0c2U="',
    "jwt-secret-is-base64 = true",
  ]],
  [`jwt-secret = "${"s".repeat(31)}$$"`, [`jwt-secret = "${"s".repeat(31)}$$"`]],
  ["admin-server-port = 3001\nserver-port = 0", ["admin-server-port = 3001", "server-port = 0"]],
  ['db-extra-search-path = ""', ['db-extra-search-path = ""']],
  ['server-unix-socket-mode = "777"', ['server-unix-socket-mode = "777"']],
  ['log-level = ""', []],
];

for (const [bindings, lines] of dumped) {
  Deno.test(`dumpConfig in pgrst writes what ${JSON.stringify(bindings)} changes, and reads it`, () => {
    const known = new Set(defaultDump.split("\n"));
    const dump = dumpConfig(load(pgrst + bindings));
    deepStrictEqual(dump.split("\n").filter((line) => !known.has(line)), lines);
    strictEqual(dumpConfig(load(dump)), dump);
  });
}

Deno.test("dumpConfig in pgrst is a file of that dialect which dumps as the same", () => {
  const text =
    `${pgrst}jwt-role-claim-key = "$$.a[?(@ == \\"b\\")]"\napp.settings.x = "a\\"$$ \\\\"\n`;
  const dump = dumpConfig(load(text));
  match(dump, /^dialect = "pgrst"$/m);
  match(dump, /^server-host = "!4"$/m);
  strictEqual(dumpConfig(load(dump)), dump);
});

/** The strongest source that has a value for the spelling wins. */
const precedence: readonly (readonly [
  title: string,
  text: string,
  environment: Record<string, string>,
  database: Record<string, string>,
  expected: Partial<Config>,
])[] = [
  ["the database before the environment", "db-max-rows = 1", { SVC_DB_MAX_ROWS: "2" }, {
    db_max_rows: "3",
  }, { dbMaxRows: 3 }],
  ["the environment before the file", "db-max-rows = 1", { SVC_DB_MAX_ROWS: "2" }, {}, {
    dbMaxRows: 2,
  }],
  ["the key before the alias", "db-max-rows = 1", { SVC_MAX_ROWS: "2" }, {}, { dbMaxRows: 1 }],
  ["an empty database value hides, and leaves the alias", "db-max-rows = 1\nmax-rows = 9", {}, {
    db_max_rows: "",
  }, { dbMaxRows: 9 }],
  ["an empty list of schemas is a value", "", {}, { db_extra_search_path: "" }, {
    dbExtraSearchPath: [],
  }],
  ["no key beyond the list", "", {}, {
    db_pool: "1",
    log_level: "debug",
    jwt_claim_settings: "true",
  }, { dbPool: 10, logLevel: "error", jwtClaimSettings: false }],
  ["base64 of the database for the file's secret", `jwt-secret = "${"QUFB".repeat(12)}"`, {}, {
    jwt_secret_is_base64: "true",
  }, { jwtSecret: new TextEncoder().encode("A".repeat(36)) }],
  ["a function by name", "", {}, { db_pre_request: "a.b.c" }, {
    dbPreRequest: { schema: "a", name: "b.c" },
  }],
];

for (const [title, text, environment, database, expected] of precedence) {
  Deno.test(`loadConfig takes ${title}`, () => {
    const needed = 'db-uri = "postgresql://"\ndb-schemas = "public"\n';
    const config = load(needed + text, environment, database);
    for (const [field, value] of Object.entries(expected)) {
      deepStrictEqual(config[field as keyof Config], value, field);
    }
  });
}

Deno.test("loadConfig names the setting of the database that it rejects", () => {
  const needed = 'db-uri = "postgresql://"\ndb-schemas = "public"\n';
  throws(() => load(needed, {}, { db_max_rows: "many" }), {
    name: "ConfigError",
    message: 'svc.db_max_rows (database): expected a whole number of at least 0, got "many"',
  });
  strictEqual(load(pgrst, {}, { db_max_rows: "many" }).dbMaxRows, null);
});

Deno.test("keepStartupOptions takes over what a start alone applies", () => {
  const first = load(pgrst + "db-pool = 3\ndb-max-rows = 1\n");
  const next = load('db-uri = "pglite://memory"\ndb-schemas = "x"\ndb-pool = 4\ndb-max-rows = 2\n');
  const { dialect, dbPool, dbUri, dbMaxRows, dbSchemas } = keepStartupOptions(next, first);
  deepStrictEqual({ dialect, dbPool, dbUri, dbMaxRows, dbSchemas }, {
    dialect: pgrstDialect,
    dbPool: 3,
    dbUri: "postgresql://",
    dbMaxRows: 2,
    dbSchemas: ["x"],
  });
  strictEqual(keepStartupOptions(first, next).dialect, svcDialect);
});

const needed = 'db-uri = "pglite://memory"\ndb-schemas = "x"\n';

const changes: readonly [string, string, string, readonly string[]][] = [
  ["nothing", "db-pool = 3", "db-pool = 3", []],
  ["reloadable options", "db-max-rows = 1", "db-max-rows = 2", []],
  ["a value", "db-pool = 3", "db-pool = 4", ["db-pool"]],
  ["a value that is gone", "server-port = 3001", "", ["server-port"]],
  ["an option and what follows it", "", 'server-host = "::1"', ["server-host"]],
  [
    "a host that was the same as another",
    'server-host = "::1"',
    'server-host = "::1"\nadmin-server-host = "127.0.0.1"',
    ["admin-server-host"],
  ],
  ["the dialect", "", 'dialect = "pgrst"', ["dialect", "server-host"]],
];

for (const [name, before, after, keys] of changes) {
  Deno.test(`changedStartupOptions() names what a restart would apply: ${name}`, () => {
    const [first, next] = [before, after].map((lines) => load(needed + lines));
    deepStrictEqual(changedStartupOptions(next!, first!), keys);
  });
}
