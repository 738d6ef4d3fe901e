import { pgrstDialect, svcDialect } from "../../../../src/base/dialect.ts";
import { deepStrictEqual, throws } from "node:assert/strict";
import { ConfigError } from "../../../../src/state/config/config_error.ts";
import { loadConfig } from "../../../../src/state/config/load.ts";
import { environmentName } from "../../../../src/state/config/names.ts";
import { type Config, rowsOf, valueOf } from "../../../../src/state/config/options.ts";
import { wingOptions } from "../../../../src/process/wings.ts";

/** A value as the environment has it, or as it stands in the file (`toml`), and what it means. */
type Accepted = readonly [source: string | { readonly toml: string }, value: unknown];

/** A value as it stands in the file, and the message after `svc.conf:3: key: `. */
type Rejected = readonly [toml: string, problem: string];

interface Cases {
  readonly accepted: readonly Accepted[];
  readonly rejected: readonly Rejected[];
}

const booleans: Cases = {
  accepted: [
    [{ toml: "true" }, true],
    [{ toml: "false" }, false],
    ["true", true],
    ["TRUE", true],
    ["'False'", false],
    ['"true"', true],
    ["0", false],
    ["-1", false],
    ["1", true],
    ["2", true],
  ],
  rejected: [
    ['"yes"', 'expected true or false, got "yes"'],
    ['"on"', 'expected true or false, got "on"'],
    ["13", "expected true or false, got 13"],
    ["[true]", "expected true or false, got a list"],
    ["2026-01-01", "expected true or false, got a date or time"],
  ],
};

function integers(min: number, range: string): Cases {
  return {
    accepted: [
      [{ toml: "1000" }, 1000],
      [{ toml: "1e3" }, 1000],
      ["1000", 1000],
      [" 1000 ", 1000],
      [String(min), min],
    ],
    rejected: [
      ['"ten"', `expected ${range}, got "ten"`],
      ["10.5", `expected ${range}, got 10.5`],
      ["true", `expected ${range}, got true`],
      ["nan", `expected ${range}, got NaN`],
      ['"1e3"', `expected ${range}, got "1e3"`],
      ['"9007199254740993"', `expected ${range}, got "9007199254740993"`],
    ],
  };
}

function bounded(min: number, max: number): Cases {
  const range = `a whole number from ${min} to ${max}`;
  const cases = integers(min, range);
  return {
    accepted: [...cases.accepted, [String(max), max]],
    rejected: [
      ...cases.rejected,
      [String(min - 1), `expected ${range}, got ${min - 1}`],
      [String(max + 1), `expected ${range}, got ${max + 1}`],
    ],
  };
}

function names(what: string): Cases {
  const expected = `expected ${what} in quotes`;
  return {
    accepted: [
      ["web_anon", "web_anon"],
      ["Ünicode name", "Ünicode name"],
      [{ toml: '"a\\"b"' }, 'a"b'],
    ],
    rejected: [
      ["5", `${expected}, got 5`],
      ["false", `${expected}, got false`],
      ["{}", `${expected}, got a table`],
      ['"a\\u0000b"', `must not contain the character U+0000 (${expected}, got "a\\u0000b")`],
    ],
  };
}

const hostExpected =
  'expected a host name, an address or one of "*", "*4", "!4", "*6", "!6", in quotes';
const hosts: Cases = {
  accepted: [
    ["*", "*"],
    ["*4", "*4"],
    ["!4", "!4"],
    ["*6", "*6"],
    ["!6", "!6"],
    ["localhost", "localhost"],
    ["127.0.0.1", "127.0.0.1"],
    ["fe80::1%eth0", "fe80::1%eth0"],
  ],
  rejected: [
    ['"!5"', `${hostExpected}, got "!5"`],
    ['"a b"', `${hostExpected}, got "a b"`],
    ['"http://a"', `${hostExpected}, got "http://a"`],
    ["4", `${hostExpected}, got 4`],
  ],
};

const sockets: Cases = {
  accepted: [["/run/svc.sock", "/run/svc.sock"], ["./a b", "./a b"]],
  rejected: [
    [
      `"${"é".repeat(60)}"`,
      `expected a path in quotes of at most 107 bytes, got "${"é".repeat(60)}"`,
    ],
    ["1", "expected a path in quotes of at most 107 bytes, got 1"],
  ],
};

function modes(key: string): Cases {
  const expected = 'expected octal digits in quotes from "600" to "777"';
  const invalid = (problem: string, shown: string) =>
    `Invalid ${key}: ${problem} (${expected}, got ${shown})`;
  return {
    accepted: [["600", 0o600], ["660", 0o660], ["777", 0o777]],
    rejected: [
      ['"800"', invalid("not an octal", '"800"')],
      ["777", invalid("not an octal", "777")],
      ['"660x"', invalid("not an octal", '"660x"')],
      ['"599"', invalid("needs to be between 600 and 777", '"599"')],
      ['"778"', invalid("needs to be between 600 and 777", '"778"')],
      ['"1777"', invalid("needs to be between 600 and 777", '"1777"')],
    ],
  };
}

function words(complaint: string, ...values: readonly string[]): Cases {
  const listed = values.map((value) => `"${value}"`).join(", ");
  const expected = `expected ${values.length === 1 ? "" : "one of "}${listed}`;
  return {
    accepted: values.map((value) => [value, value]),
    rejected: [
      ['"nope"', `${complaint} (${expected}, got "nope")`],
      ['" commit"', `${complaint} (${expected}, got " commit")`],
      ['"COMMIT"', `${complaint} (${expected}, got "COMMIT")`],
      ["1", `${complaint} (${expected}, got 1)`],
    ],
  };
}

function lists(what: string): Cases {
  const expected = `expected ${what}`;
  return {
    accepted: [],
    rejected: [
      ['"a,,b"', `has an empty item (${expected}, got "a,,b")`],
      ['","', `has an empty item (${expected}, got ",")`],
      ["1", `${expected}, got 1`],
      ['["a", "b"]', `${expected}, got a list`],
    ],
  };
}

const tableText = 'a table\'s name in quotes with its schema, such as "schema.name"';
const ttlText = 'seconds of at least 1, or a text such as "500ms", "10s", "2m"';
const functions: Cases = {
  accepted: [
    ["f", { schema: null, name: "f" }],
    ["select", { schema: null, name: "select" }],
    ["a.b.c", { schema: "a", name: "b.c" }],
  ],
  rejected: [
    ['".f"', 'expected a function\'s name in quotes, such as "schema.name", got ".f"'],
    ['"s."', 'expected a function\'s name in quotes, such as "schema.name", got "s."'],
    ["true", 'expected a function\'s name in quotes, such as "schema.name", got true'],
  ],
};

const connection =
  'expected a connection string such as "postgres://user:password@host:5432/database", ' +
  '"host=… dbname=…" or "pglite://memory"';
const encoding =
  "has a special character that is not percent-encoded; write % as %25 and a space " +
  "as %20";
const secret = "expected text in quotes of at least 32 bytes, a JSON Web Key (set), " +
  'or "@" and the path of a file with it';
const audience =
  "jwt-aud should be a string or a valid URI (expected an audience in quotes; with " +
  "a colon in it, a URI, got ";
const proxy = "Malformed proxy uri, a correct example: https://example.com:8443/basePath " +
  "(expected an http or https URI in quotes of host, port and path, got ";
/** The value of `db-schemas` with fall-through. */
function versions(
  names: string[],
  fallbacks: readonly (readonly [string, readonly string[]])[],
) {
  return Object.assign(names, { fallbacks: new Map(fallbacks) });
}

const schemas = "expected schemas in quotes, separated by commas";
const settings = "names of settings in quotes, separated by commas";
const origins = 'origins in quotes, separated by commas, such as "https://example.com"';
const hostNames = "host names in quotes, separated by commas";
const timeText = 'seconds, or a text such as "500ms", "10s", "2m"';
const sizeText = 'bytes, or a text such as "64k", "10m", "1g"';
const healthPath =
  'a path in quotes of two or more segments that is not below /rpc, such as "/-/health"';
const headerObject =
  'a JSON object of header names and values, such as {"X-Frame-Options": "DENY"}';
const headerNames: Cases = {
  accepted: [["X-Request-Id", "X-Request-Id"]],
  rejected: [
    ['"a b"', 'expected a header\'s name in quotes, got "a b"'],
    ['"a:"', 'expected a header\'s name in quotes, got "a:"'],
    ['"é"', 'expected a header\'s name in quotes, got "é"'],
  ],
};
const counts: Cases = {
  accepted: integers(0, "").accepted,
  rejected: [
    ...integers(0, "a whole number of at least 0").rejected,
    ["-1", "expected a whole number of at least 0, got -1"],
  ],
};
const times: Cases = {
  accepted: [
    ["0", 0],
    ["10", 10],
    [{ toml: "10" }, 10],
    [{ toml: "0.5" }, 0.5],
    ["500ms", 0.5],
    [" 5S ", 5],
    ["0.29", 0.29],
    ["2m", 120],
    ["1.5h", 5400],
    ["2147483647ms", 2147483.647],
  ],
  rejected: [
    ["-1", `expected ${timeText}, got -1`],
    ['"5 s"', `expected ${timeText}, got "5 s"`],
    ['"2w"', `expected ${timeText}, got "2w"`],
    ['"0.5ms"', `expected ${timeText}, got "0.5ms"`],
    ['"1.2345"', `expected ${timeText}, got "1.2345"`],
    ['"2147483648ms"', `expected ${timeText}, got "2147483648ms"`],
    ["true", `expected ${timeText}, got true`],
  ],
};
const sizes: Cases = {
  accepted: [
    ["0", 0],
    [{ toml: "10485760" }, 10_485_760],
    ["64k", 65_536],
    ["10m", 10_485_760],
    ["1.5K", 1536],
    ["2g", 2_147_483_648],
  ],
  rejected: [
    ["-1", `expected ${sizeText}, got -1`],
    ["1.5", `expected ${sizeText}, got 1.5`],
    ['"10mb"', `expected ${sizeText}, got "10mb"`],
    ['"9007199254740993"', `expected ${sizeText}, got "9007199254740993"`],
    ["true", `expected ${sizeText}, got true`],
  ],
};
const mcpTime = 'seconds of at least 0.001, or a text such as "500ms", "10s", "2m"';
const mcpPath = 'a path in quotes that is not below /rpc, such as "/mcp"';
const mcpToolNames = "names in quotes, separated by commas, of list_relations, " +
  "describe_relation, query, call_function";
const livePath = 'a path in quotes that is not below /rpc, such as "/live"';
const liveInterval = 'seconds from 0.01 to 2, or a text such as "500ms", "10s", "2m"';
const liveRecheck = 'seconds from 1 to 86400, or a text such as "500ms", "10s", "2m"';
const liveMemory = 'bytes of at least 1048576, or a text such as "64k", "10m", "1g"';
const policies = 'policies in quotes, such as "anon: 60/1m by ip for web_anon"';
const ranges = 'addresses or ranges in quotes, separated by commas, such as "10.0.0.0/8"';
const codings = 'codings in quotes, separated by commas: "zstd", "br", "gzip"';
const secret32 = "reallyreallyreallyreallyverysafe";
const originsText =
  'expected origins in quotes, separated by commas, such as "https://example.com"';
const skewText = 'expected seconds from 0 to 300, or a text such as "500ms", "10s", "2m"';
const keyUrlText = "expected an https URL in quotes, without user, password and fragment";
const issuersText = "expected a JSON list of issuers such as " +
  '[{"issuer":"https://id.example","role":"web_user"}], or "@" and the path of a file with it';

const adminSecret =
  'expected printable ASCII in quotes of at least 32 characters, or "@" and the ' +
  "path of a file with it";

/** The same cases, or the same default, for each option of a list. */
function each<Value>(value: Value): (keys: TemplateStringsArray) => Record<string, Value> {
  return ([keys]) => Object.fromEntries(keys!.trim().split(/\s+/).map((key) => [key, value]));
}

const keysText = "expected a JSON list of keys such as " +
  `[{"name":"web","sha256":"…","role":"web_anon"}], or "@" and the path of a file with it`;

const operations = '# Known.\na  anon, "a role"  GET  /x?a=eq.*&limit=..5\n';

const cases: Readonly<Record<string, Cases>> = {
  "api-keys": {
    accepted: [[`[{"name":"web","sha256":"${"ab".repeat(32)}","role":"anon"}]`, [
      { name: "web", sha256: "ab".repeat(32), role: "anon" },
    ]]],
    rejected: [
      ['"[]"', keysText],
      ["5", keysText],
      ["[]", `${keysText}, got a list`],
      ['"@missing"', 'cannot read the file "missing": No such file'],
    ],
  },
  ...each(booleans)`
    admin-console-enabled admin-sign-in db-aggregates-enabled
    db-channel-enabled db-comment-tags db-config db-plan-enabled db-pool-automatic-recovery
    db-pipelining db-read-only db-safe-update db-trace-application-name jwt-apikey-header
    jwt-claim-settings jwt-secret-is-base64 log-query log-findings log-query-string
    openapi-security-active server-query-method server-reuseport server-security-headers
    server-timing-enabled url-use-legacy-target-names
  `,
  ...each(times)`
    batch-timeout db-replica-max-lag
    db-anon-statement-timeout db-statement-timeout server-body-timeout
    server-header-timeout server-idle-timeout server-shutdown-wait-period server-request-timeout
  `,
  ...each(counts)`
    batch-max-operations db-max-cost db-max-rows server-max-connections server-max-requests
  `,
  ...each(sizes)`
    batch-max-bytes server-max-body-size
    server-max-header-size server-max-query-body server-max-url-length server-spool-size
  `,
  ...each(hosts)`admin-server-host server-host`,
  ...each(sockets)`admin-server-unix-socket server-unix-socket`,
  ...each(functions)`db-pre-config db-pre-request db-root-spec jwt-revocations`,
  ...each(headerNames)`server-request-id-header server-trace-header`,
  ...each(bounded(0, 2147483))`
    db-pool-acquisition-timeout db-pool-max-idletime db-pool-max-lifetime
  `,
  ...each(bounded(0, 65535))`admin-server-port server-port`,
  ...each(bounded(1, 262143))`db-replica-pool db-pool`,
  "admin-allowed-hosts": {
    accepted: [["admin.example.com", ["admin.example.com"]], ["a, B_1.x", ["a", "B_1.x"]]],
    rejected: [
      ...lists(hostNames).rejected.slice(1),
      ['"a:3001"', `expected ${hostNames}, got "a:3001"`],
      ['"http://a"', `expected ${hostNames}, got "http://a"`],
      ['"*.example.com"', `expected ${hostNames}, got "*.example.com"`],
      ['".a"', `expected ${hostNames}, got ".a"`],
    ],
  },
  "admin-server-unix-socket-mode": modes("admin-server-unix-socket-mode"),
  "admin-token": {
    accepted: [[secret32, secret32], ["@secret", secret32]],
    rejected: [
      [`"${secret32.slice(1)}"`, adminSecret],
      [`"${secret32} with spaces"`, adminSecret],
      [`"${"é".repeat(32)}"`, adminSecret],
      ["12345", adminSecret],
      ['"@missing"', 'cannot read the file "missing": No such file'],
    ],
  },
  "client-error-verbosity": words(
    "Invalid client-error-verbosity. Check your configuration.",
    "verbose",
    "minimal",
    "advise",
  ),
  "db-anon-role": names("a role's name"),
  "db-capabilities": {
    accepted: [["", []], ["-notify", ["-notify"]]],
    rejected: [
      [
        '"-lsn"',
        'expected "-notify" alone (remove other parts, which have no use now), got "-lsn"',
      ],
      ["1", 'expected "-notify" alone (remove other parts, which have no use now), got 1'],
    ],
  },
  "db-channel": names("a channel's name"),
  "db-channel-uri": {
    accepted: [
      ["postgres://u:p@h/db", "postgres://u:p@h/db"],
      ["host=h dbname=d", "host=h dbname=d"],
      ["@uri", "postgres://from/file"],
    ],
    rejected: [
      ['"tmp_db"', connection],
      ['"pglite://memory"', `must name a PostgreSQL server (${connection})`],
    ],
  },
  "db-replica-fallback": words(
    "Invalid db-replica-fallback. Check your configuration.",
    "primary",
    "error",
  ),
  "db-replica-uri": {
    accepted: [["postgres://h1,h2:5433/db", "postgres://h1,h2:5433/db"]],
    rejected: [
      ['"tmp_db"', connection],
      ['"pglite://memory"', `must name a PostgreSQL server (${connection})`],
    ],
  },
  "db-embedded-init": names("the path of an SQL file"),
  "db-password-file": names("the path of a file"),
  "db-extra-search-path": {
    accepted: [["", []], [" ", []], ["a", ["a"]], ["a ,  b", ["a", "b"]]],
    rejected: lists("schemas in quotes, separated by commas").rejected,
  },
  "db-hoisted-tx-settings": {
    accepted: [["statement_timeout, a.b", ["statement_timeout", "a.b"]]],
    rejected: [
      ...lists(settings).rejected,
      ['"a b"', `expected ${settings}, got "a b"`],
      ['"a, b;c"', `expected ${settings}, got "a, b;c"`],
    ],
  },
  "db-prepared-statements": {
    accepted: [...booleans.accepted, ["auto", "auto"]],
    rejected: [
      ...booleans.rejected.map(([value, problem]) =>
        [value, problem.replace("true or false", 'true, false or "auto"')] as const
      ),
      ['"Auto"', 'expected true, false or "auto", got "Auto"'],
    ],
  },
  "db-schema-watch": words(
    "Invalid db-schema-watch. Check your configuration.",
    "notify",
    "auto",
    "poll",
  ),
  "db-schemas": {
    accepted: [
      ["a", ["a"]],
      ["multi,   tenant,setup", ["multi", "tenant", "setup"]],
      ["v2 < v1, admin", versions(["v2", "v1", "admin"], [["v2", ["v1"]]])],
      [
        "v3<v2 <v1,v1",
        versions(["v3", "v2", "v1"], [["v3", ["v2", "v1"]], ["v2", ["v1"]]]),
      ],
      [
        "v2 < v1, v3 < v2 < v1",
        versions(["v2", "v1", "v3"], [["v2", ["v1"]], ["v3", ["v2", "v1"]]]),
      ],
      [
        "v2 < base, v1 < base",
        versions(["v2", "base", "v1"], [["v2", ["base"]], ["v1", ["base"]]]),
      ],
    ],
    rejected: [
      ...lists("schemas in quotes, separated by commas").rejected,
      ['"v2 <"', `has no schema on one side of < (${schemas}, got "v2 <")`],
      [
        '"v2 < v1, v2 < b"',
        `names 'v2' twice, with other schemas behind it (${schemas}, got "v2 < v1, v2 < b")`,
      ],
      ['"a < a"', `names 'a' twice, with other schemas behind it (${schemas}, got "a < a")`],
      [
        '"a < b, b < a"',
        `names 'b' twice, with other schemas behind it (${schemas}, got "a < b, b < a")`,
      ],
      [
        '"v2 < v1, v3 < v2"',
        `names 'v2' twice, with other schemas behind it (${schemas}, got "v2 < v1, v3 < v2")`,
      ],
      [
        '"a < pg_catalog"',
        `db-schemas does not allow schema: 'pg_catalog' (${schemas}, got "a < pg_catalog")`,
      ],
      [
        '"a, pg_catalog, information_schema"',
        `db-schemas does not allow schema: 'pg_catalog' (${schemas}, ` +
        'got "a, pg_catalog, information_schema")',
      ],
      [
        '"information_schema"',
        "db-schemas does not allow schema: 'information_schema' " +
        `(${schemas}, got "information_schema")`,
      ],
      ['" "', `has an empty item (${schemas}, got " ")`],
    ],
  },
  "db-tx-end": words(
    "Invalid transaction termination. Check your configuration.",
    "commit",
    "commit-allow-override",
    "rollback",
    "rollback-allow-override",
  ),
  "db-url-functions": {
    accepted: [["", []], ["*", ["*"]], ["lower, upper", ["lower", "upper"]]],
    rejected: lists("names of functions in quotes, separated by commas").rejected,
  },
  "db-uri": {
    accepted: [
      [
        "postgres://u:p%40ss@h:5432/db?sslmode=require",
        "postgres://u:p%40ss@h:5432/db?sslmode=require",
      ],
      ["postgresql://a:1,b:2/db", "postgresql://a:1,b:2/db"],
      ["postgresql://", "postgresql://"],
      ["host=h port=5433 password='a://b'", "host=h port=5433 password='a://b'"],
      ["pglite://memory", "pglite://memory"],
      ["pglite://data/folder", "pglite://data/folder"],
      ["@uri", "postgres://from/file"],
    ],
    rejected: [
      ['"tmp_db"', connection],
      ["5", connection],
      ["[1]", `${connection}, got a list`],
      ['"http://hidden:secret@host"', connection],
      ['"postgres://h?schema=x"', `invalid URI query parameter: "schema" (${connection})`],
      ['"host=h schema=x"', `invalid connection option "schema" (${connection})`],
      ['"mysql://host?a=b"', connection],
      ['"postgres://u:100%@h"', `${encoding} (${connection})`],
      ['"postgres://u:a b@h"', `${encoding} (${connection})`],
      [
        '"postgres://u\\n@h"',
        `must not contain line breaks or other control characters (${connection})`,
      ],
      ['"@missing"', 'cannot read the file "missing": No such file'],
    ],
  },
  "dialect": {
    ...words("no such dialect", "svc", "pgrst"),
    accepted: [["svc", svcDialect], ["pgrst", pgrstDialect], [{ toml: "'svc'" }, svcDialect]],
  },
  "etag-mode": words("Invalid etag-mode. Check your configuration.", "off", "on", "required"),
  "etag-version-columns": {
    accepted: [["", []], ["version", ["version"]], ["a, b", ["a", "b"]]],
    rejected: lists("names of columns in quotes, separated by commas").rejected,
  },
  "idempotency-table": {
    accepted: [
      ["svc.keys", { schema: "svc", name: "keys" }],
      ["a.b.c", { schema: "a", name: "b.c" }],
    ],
    rejected: [
      ['"keys"', `expected ${tableText}, got "keys"`],
      ['".keys"', `expected ${tableText}, got ".keys"`],
      ['"svc."', `expected ${tableText}, got "svc."`],
      ["1", `expected ${tableText}, got 1`],
    ],
  },
  "idempotency-ttl": {
    accepted: [["1", 1], ["24h", 86_400], ["1500ms", 1.5]],
    rejected: [["0", `expected ${ttlText}, got 0`], [
      '"500ms"',
      `expected ${ttlText}, got "500ms"`,
    ]],
  },
  "jwt-aud": {
    accepted: [
      ["abc def", "abc def"],
      ["urn:x:y", "urn:x:y"],
      ["https://a.b", "https://a.b"],
      ["https://[::1]:80/x?y#z", "https://[::1]:80/x?y#z"],
    ],
    rejected: [
      ['"http://%%localhorst.invalid"', audience + '"http://%%localhorst.invalid")'],
      ['"foo://%%$$$$^^.com"', audience + '"foo://%%$$^^.com")'],
      ['":x"', audience + '":x")'],
      ['"http://[x"', audience + '"http://[x")'],
      ["1", "expected an audience in quotes; with a colon in it, a URI, got 1"],
    ],
  },
  "jwt-cache-max-entries": {
    accepted: [["0", 0], ["-1", -1], [{ toml: "5" }, 5]],
    rejected: [
      ['"many"', 'expected a whole number, got "many"'],
      ["1.5", "expected a whole number, got 1.5"],
    ],
  },
  "jwt-cookie-name": {
    accepted: [["__Host-token", "__Host-token"], ["a.b", "a.b"]],
    rejected: [
      ['"a b"', `expected a cookie's name in quotes, got "a b"`],
      ['"a=b"', `expected a cookie's name in quotes, got "a=b"`],
      ['"a;b"', `expected a cookie's name in quotes, got "a;b"`],
      ["5", "expected a cookie's name in quotes, got 5"],
    ],
  },
  "jwt-cookie-origins": {
    accepted: [["https://a.test, http://b.test:8080", ["https://a.test", "http://b.test:8080"]]],
    rejected: [
      ['"null"', `${originsText}, got "null"`],
      ['"https://a.test/"', `${originsText}, got "https://a.test/"`],
      ['"*"', `${originsText}, got "*"`],
      ["5", `${originsText}, got 5`],
    ],
  },
  "jwt-issuer": names("the issuer of tokens"),
  "jwt-issuers": {
    accepted: [['[{"issuer":"a","secret":"' + secret32 + '","role":"b"}]', [
      { issuer: "a", secret: secret32, role: "b" },
    ]]],
    rejected: [
      ['"[]"', issuersText],
      ["5", issuersText],
      ["[]", `${issuersText}, got a list`],
      ['"@missing"', 'cannot read the file "missing": No such file'],
    ],
  },
  "jwt-jwks-url": {
    accepted: [
      ["https://id.test/keys?x=1", "https://id.test/keys?x=1"],
      ["http://127.0.0.1:8080/", "http://127.0.0.1:8080/"],
      ["http://[::1]/", "http://[::1]/"],
      ["http://localhost", "http://localhost"],
    ],
    rejected: [
      ["5", `${keyUrlText}, got 5`],
      ...[
        "http://id.test/",
        "http://localhost.test/",
        "file:///keys",
        "id.test",
        "https://",
        "https://user@id.test/",
        "https://:word@id.test/",
        "https://id.test/#a",
        "http://0x7f000001.test",
      ]
        .map((url): Rejected => [`"${url}"`, `${keyUrlText}, got "${url}"`]),
    ],
  },
  "jwt-role-claim-key": {
    accepted: [
      ["$.a.b", "$.a.b"],
      [".a", ".a"],
      ["$$.a", "$$.a"],
      [{ toml: '"$$.a"' }, "$.a"],
      [{ toml: '"$.a"' }, "$.a"],
    ],
    rejected: [
      [
        '"role.other"',
        "failed to parse role-claim-key value (role.other) " +
        '(expected a JSONPath in quotes such as "$$.role", got "role.other")',
      ],
      ["1234", 'expected a JSONPath in quotes such as "$$.role", got 1234'],
    ],
  },
  "jwt-secret": {
    accepted: [
      [secret32, new TextEncoder().encode(secret32)],
      ["é".repeat(16), new TextEncoder().encode("é".repeat(16))],
      ['{"kty":"oct"}', new TextEncoder().encode('{"kty":"oct"}')],
      ['{"keys":[]}', new TextEncoder().encode('{"keys":[]}')],
      ["@secret", new TextEncoder().encode(secret32 + "\n")],
    ],
    rejected: [
      [`"${secret32.slice(1)}"`, `The JWT secret must be at least 32 characters long. (${secret})`],
      ['"{\\"a\\":1}"', `The JWT secret must be at least 32 characters long. (${secret})`],
      ["12345", secret],
      ["{}", `${secret}, got a table`],
      ['"@missing"', 'cannot read the file "missing": No such file'],
    ],
  },
  "jwt-skew": {
    accepted: [["0", 0], ["300", 300], ["5m", 300], ["500ms", 0.5]],
    rejected: [
      ["301", `${skewText}, got 301`],
      ["-1", `${skewText}, got -1`],
      ['"x"', `${skewText}, got "x"`],
    ],
  },
  "live-interval": {
    accepted: [["250ms", 0.25], ["2", 2]],
    rejected: [["0", `expected ${liveInterval}, got 0`], ["3", `expected ${liveInterval}, got 3`]],
  },
  "live-max-memory": {
    accepted: [["1m", 1_048_576], ["1g", 1_073_741_824]],
    rejected: [["1", `expected ${liveMemory}, got 1`]],
  },
  "live-max-rows": bounded(1, 1_000_000),
  "live-max-streams": bounded(1, 1_000_000),
  "live-path": {
    accepted: [["/live", "/live"], ["/-/live", "/-/live"]],
    rejected: ["/", "live", "/rpc/live", "/live/"]
      .map((path): Rejected => [`"${path}"`, `expected ${livePath}, got "${path}"`]),
  },
  "live-recheck": {
    accepted: [["1s", 1], ["5m", 300]],
    rejected: [["0", `expected ${liveRecheck}, got 0`]],
  },
  "mcp-allowed-origins": {
    accepted: [["https://a.b, null", ["https://a.b", "null"]]],
    rejected: [['"*"', `expected ${origins}, got "*"`]],
  },
  "mcp-authorization-servers": {
    accepted: [["https://a.b/c, urn:x", ["https://a.b/c", "urn:x"]]],
    rejected: [[
      '"a"',
      'expected URIs in quotes, separated by commas, such as "https://id.example.com", got "a"',
    ]],
  },
  "mcp-functions": lists("functions in quotes"),
  "mcp-max-rows": bounded(1, 1_000_000),
  "mcp-path": {
    accepted: [["/mcp", "/mcp"], ["/-/agents", "/-/agents"], ["/rpcs", "/rpcs"], ["/%20", "/%20"]],
    rejected: [
      ...["/", "mcp", "/rpc", "/rpc/mcp", "/a/", "/a?b", "/a b", "/$query", "/a/$query/b", "//"]
        .map((path): Rejected => [`"${path}"`, `expected ${mcpPath}, got "${path}"`]),
    ],
  },
  "mcp-resource": {
    accepted: [["https://a.b/mcp", "https://a.b/mcp"]],
    rejected: [['"urn:x"', 'expected an http or https URI in quotes, got "urn:x"']],
  },
  "mcp-roles": lists("roles in quotes"),
  "mcp-timeout": {
    accepted: [["10s", 10], ["50ms", 0.05]],
    rejected: [["0", `expected ${mcpTime}, got 0`]],
  },
  "mcp-tools": {
    accepted: [["query, list_relations", ["query", "list_relations"]], ["", []]],
    rejected: [[
      '"query, drop"',
      `drop is not a tool for reading (expected ${mcpToolNames}, got "query, drop")`,
    ]],
  },
  "mcp-write": lists("relations and functions in quotes"),
  "log-format": words("Invalid log-format. Check your configuration.", "text", "json"),
  "log-level": words(
    "Invalid logging level. Check your configuration.",
    "crit",
    "error",
    "warn",
    "info",
    "debug",
  ),
  "operations": {
    accepted: [
      ["known", { path: "known", text: operations }],
      ["a anon GET /x", { path: null, text: "a anon GET /x" }],
    ],
    rejected: [
      ["5", "expected the path of a file with operations in quotes, got 5"],
      ['"missing"', 'cannot read the file "missing": No such file'],
      ['"broken"', "broken:3:12: expected a path"],
    ],
  },
  "operations-roles": lists("roles in quotes"),
  "openapi-mode": words(
    "Invalid openapi-mode. Check your configuration.",
    "follow-privileges",
    "ignore-privileges",
    "disabled",
  ),
  "openapi-server-proxy-uri": {
    accepted: [
      ["https://example.com:8443/basePath", "https://example.com:8443/basePath"],
      ["HTTP://h", "HTTP://h"],
      ["http://[::1]:1/", "http://[::1]:1/"],
      ["http://h:65535", "http://h:65535"],
    ],
    rejected: [
      "htp:/@@localhorst.invalid",
      "http://",
      "http:///x",
      "http://h:0",
      "http://h:65536",
      "http://h:",
      "http://u@h",
      "http://h?a",
      "http://h/#a",
      "http://h/%",
      "ftp://h",
      "h",
    ].map((value) => [`"${value}"`, `${proxy}"${value}")`]),
  },
  "openapi-version": words("Invalid openapi-version. Check your configuration.", "2.0", "3.1"),
  "server-cors-allowed-origins": {
    accepted: [["https://a.b, http://c:80", ["https://a.b", "http://c:80"]], ["null", ["null"]]],
    rejected: [
      ...lists(origins).rejected.slice(1),
      ['"https://a.b/"', `expected ${origins}, got "https://a.b/"`],
      ['"*"', `expected ${origins}, got "*"`],
    ],
  },
  "rate-limits": {
    accepted: [
      ["a: 5/1m by ip", "a: 5/1m by ip"],
      ["a: 5/1m by all; b: 1/1h by role", "a: 5/1m by all; b: 1/1h by role"],
    ],
    rejected: [
      [
        '"a: 5/1m by ip; a: 6/1m by ip"',
        `policy 2: expected a name that no other policy has (expected ${policies}, ` +
        'got "a: 5/1m by ip; a: 6/1m by ip")',
      ],
      ["5", `expected ${policies}, got 5`],
    ],
  },
  "server-compression": {
    accepted: [["gzip", ["gzip"]], ["zstd, br,gzip", ["zstd", "br", "gzip"]]],
    rejected: [
      ...lists(codings).rejected.slice(1),
      ['"gzip, deflate"', `expected ${codings}, got "gzip, deflate"`],
      ['"GZIP"', `expected ${codings}, got "GZIP"`],
    ],
  },
  "server-health-path": {
    accepted: [["/-/health", "/-/health"], ["/a/b/c", "/a/b/c"], ["/rpcs/a%20b", "/rpcs/a%20b"]],
    rejected: [
      ...["/", "/health", "/rpc/health", "health/ready", "/a/", "//", "/a/b?c", "/a/b c", "/a/%b"]
        .map((path): Rejected => [`"${path}"`, `expected ${healthPath}, got "${path}"`]),
    ],
  },
  "server-link-header": words(
    "Invalid server-link-header. Check your configuration.",
    "cursor",
    "all",
    "none",
  ),
  "server-path-prefix": {
    accepted: [["/rest", "/rest"], ["/rest/v1", "/rest/v1"]],
    rejected: ["/", "rest", "/rest/", "/a?b", "/a b", "//"].map((path): Rejected => [
      `"${path}"`,
      `expected a path in quotes without a slash at its end, such as "/rest/v1", got "${path}"`,
    ]),
  },
  "server-response-headers": {
    accepted: [["{}", {}], ['{"X-A": "1", "x-b": "é\\t\\"2\\""}', { "X-A": "1", "x-b": 'é\t"2"' }]],
    rejected: [
      ...["[]", "null", "1", "{", '"a"'].map((text): Rejected => [
        `'${text}'`,
        `expected ${headerObject}, got ${JSON.stringify(text)}`,
      ]),
      ...([
        ['{"a b": ""}', '"a b" is not a header name'],
        ['{"": ""}', '"" is not a header name'],
        ['{"A": 1}', "the value of A is not a text"],
        ['{"A": null}', "the value of A is not a text"],
        ['{"A": "1", "a": "2"}', "a occurs twice"],
        ['{"Content-Length": "1"}', "the server sets Content-Length by itself"],
        ['{"server": "x"}', "the server sets server by itself"],
        ['{"A": "\\n"}', "the value of A has a character that no header may have"],
        ['{"A": "\\r"}', "the value of A has a character that no header may have"],
        ['{"A": "\\u0000"}', "the value of A has a character that no header may have"],
        ['{"A": "€"}', "the value of A has a character that no header may have"],
      ] as const).map(([text, problem]): Rejected => [
        `'${text}'`,
        `${problem} (expected ${headerObject}, got ${JSON.stringify(text)})`,
      ]),
    ],
  },
  "server-trusted-proxies": {
    accepted: [
      ["10.0.0.0/8", ["10.0.0.0/8"]],
      ["127.0.0.1, ::1, unix", ["127.0.0.1", "::1", "unix"]],
    ],
    rejected: [
      ...lists(ranges).rejected.slice(1),
      ['"10.0.0.0/33"', `expected ${ranges}, got "10.0.0.0/33"`],
      ['"proxy.example"', `expected ${ranges}, got "proxy.example"`],
    ],
  },
  "server-unix-socket-mode": modes("server-unix-socket-mode"),
  "tenant-by": {
    accepted: [["host", "host"], ["path", "path"]],
    rejected: ["hosts", "header X-Tenant", "claim $$.tenant"].map((value): Rejected => [
      `"${value}"`,
      'Invalid tenant-by: others need createTenantHandler. Check your configuration. (expected one of "host", "path", got ' +
      `"${value.replace("$$", "$")}")`,
    ]),
  },
  "tenant-claim": {
    accepted: [["$.tenant", "$.tenant"]],
    rejected: [
      ['"tenant"', 'expected a JSONPath in quotes, such as "$$.tenant", got "tenant"'],
      ["3", 'expected a JSONPath in quotes, such as "$$.tenant", got 3'],
    ],
  },
  "tenant-host-pattern": {
    accepted: [
      ["{tenant}.api.example.com", "{tenant}.api.example.com"],
      ["api-{tenant}.example", "api-{tenant}.example"],
      ["{tenant}", "{tenant}"],
    ],
    rejected: [
      ...["api.example.com", "{tenant}.{tenant}.example", "*.{tenant}.example", "{tenant}.Example"],
      ...["{tenant}..example", "{tenant}.example:3000", "http://{tenant}.example", "{tenant}."],
    ].map((value): Rejected => [
      `"${value}"`,
      `expected a host name in quotes with {tenant} once, such as "{tenant}.api.example.com", got ` +
      `"${value}"`,
    ]),
  },
  "tenant-max-requests": integers(1, "a whole number of at least 1"),
  "tenants": {
    accepted: [["./tenants", "./tenants"], ["/etc/svc/tenants", "/etc/svc/tenants"]],
    rejected: ["tenants", "control.tenants"].map((value): Rejected => [
      `"${value}"`,
      `expected a folder with a slash, such as "./tenants", got "${value}"`,
    ]),
  },
  "tenants-db-pool": bounded(2, 262143),
  "tenants-max-loaded": integers(1, "a whole number of at least 1"),
  "server-workers": {
    accepted: [["1", 1], ["256", 256], ["auto", "auto"]],
    rejected: ["0", "257", "1.5", '"Auto"'].map((value) =>
      [value, `expected a whole number from 1 to 256 or "auto", got ${value}`] as const
    ),
  },
};

const files: ReadonlyMap<string, string> = new Map([
  ["uri", "\n postgres://from/file \n"],
  ["secret", secret32 + "\n\n"],
  ["known", operations],
  ["broken", `${operations}b anon GET ?x`],
]);

function readFile(path: string): Uint8Array {
  const content = files.get(path);
  if (content === undefined) throw new Error("No such file");
  return new TextEncoder().encode(content);
}

/** Reads one binding, on line 3 of the file or in the environment. */
function read(key: string, source: string | { readonly toml: string }): Config {
  const inFile = typeof source !== "string";
  const others = ['db-uri = "postgresql://"', 'db-schemas = "public"'];
  // The place of the key under test among the required ones is taken by an empty line.
  const lines = others.map((line) => (line.startsWith(`${key} =`) ? "" : line));
  return loadConfig({
    wingOptions,
    file: {
      path: "svc.conf",
      text: [...lines, inFile ? `${key} = ${source.toml}` : ""].join("\n"),
    },
    environment: inFile ? {} : { [environmentName(key)]: source },
    readFile,
  });
}

for (const [key] of rowsOf({ wingOptions })) {
  Deno.test(`loadConfig reads ${key}`, () => {
    for (const [source, value] of cases[key]!.accepted) {
      deepStrictEqual(valueOf(read(key, source), key), value, JSON.stringify(source));
    }
  });

  Deno.test(`loadConfig rejects wrong values of ${key}`, () => {
    for (const [toml, problem] of cases[key]!.rejected) {
      throws(() => read(key, { toml }), {
        name: ConfigError.name,
        message: `svc.conf:3: ${key}: ${problem}`,
      });
    }
  });
}

Deno.test("loadConfig takes the defaults", () => {
  const environment = { SVC_DB_URI: "postgresql://", SVC_DB_SCHEMAS: "public" };
  deepStrictEqual(loadConfig({ wingOptions, file: null, environment, readFile }), {
    wingOptions,
    ...each(null)`
      adminAllowedHosts adminServerPort adminServerUnixSocket adminToken apiKeys dbAnonRole dbChannelUri
      dbReplicaPool dbReplicaUri dbPasswordFile dbEmbeddedInit dbMaxRows dbPreConfig dbPreRequest
      dbRootSpec dbStatementTimeout idempotencyTable jwtAud jwtCookieName
      jwtCookieOrigins jwtIssuer jwtIssuers jwtJwksUrl jwtRevocations jwtSecret livePath mcpAllowedOrigins
      mcpAuthorizationServers mcpFunctions mcpPath mcpResource mcpRoles mcpWrite
      openapiServerProxyUri operations operationsRoles serverCorsAllowedOrigins serverHealthPath serverPathPrefix
      serverRequestIdHeader serverResponseHeaders dbAnonStatementTimeout dbMaxCost rateLimits
      serverCompression serverTraceHeader serverTrustedProxies serverUnixSocket tenantClaim
      tenantHostPattern tenants
    `,
    ...each(false)`
      adminSignIn dbAggregatesEnabled dbCommentTags dbPlanEnabled dbReadOnly
      dbSafeUpdate dbTraceApplicationName jwtApikeyHeader jwtClaimSettings jwtSecretIsBase64
      logQuery openapiSecurityActive serverQueryMethod serverReuseport serverSecurityHeaders
      serverTimingEnabled
    `,
    ...each(true)`
      adminConsoleEnabled dbChannelEnabled dbConfig dbPipelining dbPoolAutomaticRecovery
      dbPreparedStatements logFindings logQueryString urlUseLegacyTargetNames
    `,
    ...each(0)`
      batchMaxOperations serverBodyTimeout serverHeaderTimeout serverIdleTimeout
      serverMaxBodySize serverMaxConnections serverMaxHeaderSize serverMaxRequests
      serverMaxUrlLength serverRequestTimeout serverShutdownWaitPeriod
    `,
    adminServerHost: "*4",
    adminServerUnixSocketMode: 0o660,
    appSettings: [],
    batchMaxBytes: 10 * 1024 * 1024,
    batchTimeout: 10,
    clientErrorVerbosity: "verbose",
    dbCapabilities: [],
    dbChannel: "svc",
    dbReplicaFallback: "primary",
    dbReplicaMaxLag: 10,
    dbExtraSearchPath: ["public"],
    dbHoistedTxSettings: ["statement_timeout"],
    dbPool: 10,
    dbPoolAcquisitionTimeout: 10,
    dbPoolMaxIdletime: 30,
    dbPoolMaxLifetime: 1800,
    dbSchemas: ["public"],
    dbSchemaWatch: "notify",
    dbTxEnd: "commit",
    dbUri: "postgresql://",
    dbUrlFunctions: ["*"],
    dialect: svcDialect,
    etagMode: "off",
    etagVersionColumns: [],
    idempotencyTtl: 86_400,
    jwtCacheMaxEntries: 1000,
    jwtRoleClaimKey: "$.role",
    jwtSkew: 30,
    liveInterval: 0.1,
    liveMaxMemory: 134_217_728,
    liveMaxRows: 10_000,
    liveMaxStreams: 10_000,
    liveRecheck: 60,
    logFormat: "text",
    logLevel: "error",
    mcpMaxRows: 100,
    mcpTimeout: 10,
    mcpTools: ["list_relations", "describe_relation", "query", "call_function"],
    openapiMode: "follow-privileges",
    openapiVersion: "2.0",
    serverHost: "*4",
    serverLinkHeader: "cursor",
    serverMaxQueryBody: 1_048_576,
    serverPort: 3000,
    serverWorkers: 1,
    serverSpoolSize: 10_737_418_240,
    serverUnixSocketMode: 0o660,
    tenantBy: "host",
    tenantMaxRequests: 50,
    tenantsDbPool: 100,
    tenantsMaxLoaded: 20,
  });
});
