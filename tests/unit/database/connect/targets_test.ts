import { deepStrictEqual, ok, strictEqual, throws } from "node:assert/strict";
import { connectionTargets, type SessionTarget } from "../../../../src/database/connect/targets.ts";

type Place = readonly [host: unknown, port: unknown];

const places: readonly (readonly [text: string, servers: readonly Place[]])[] = [
  ["postgres://", [[undefined, undefined]]],
  ["postgresql://h", [["h", undefined]]],
  ["postgres://h:5433/db", [["h", 5433]]],
  ["postgres://a,b/db", [["a", undefined], ["b", undefined]]],
  ["postgres://a:1,b:2,c/db", [["a", 1], ["b", 2], ["c", undefined]]],
  ["postgres://u:p@a:1,b:2/db?sslmode=disable", [["a", 1], ["b", 2]]],
  ["postgres://a,b/db?port=7", [["a", 7], ["b", 7]]],
  ["postgres:///db?host=a,b&port=1,2", [["a", 1], ["b", 2]]],
  ["postgres://ignored/db?host=%2Frun%2Fpg", [["/run/pg", undefined]]],
  ["postgres://%2Frun%2Fpg/db", [["/run/pg", undefined]]],
  ["postgres://[::1]:5433,[fe80::1]/db", [["::1", 5433], ["fe80::1", undefined]]],
  ["host=a,b port=1,2 dbname=db", [["a", 1], ["b", 2]]],
  ["host=a,b port=1", [["a", 1], ["b", 1]]],
  ["host=/run/pg user=u", [["/run/pg", undefined]]],
  ["dbname=db", [[undefined, undefined]]],
];

for (const [text, expected] of places) {
  Deno.test(`connectionTargets tries the servers of ${text} in order`, () => {
    const { servers } = connectionTargets(text);
    deepStrictEqual(servers.map(({ host, port }) => [host, port]), expected);
  });
}

const logins: readonly (readonly [text: string, user: string, password: string, db: unknown])[] = [
  ["postgres://u:p@h/db", "u", "p", "db"],
  ["postgres://u:p%40ss@h/db", "u", "p@ss", "db"],
  ["postgres://u:p?ss@a,b/db", "u", "p?ss", "db"],
  ["postgres://u:p#s:s@h/db", "u", "p#s:s", "db"],
  ["postgres://u:p@ss@h/db", "u", "p@ss", "db"],
  ["postgres://u:100%@h/db", "u", "100%", "db"],
  ["postgres://u%20v:p@/my%20db", "u v", "p", "my db"],
  ["host=h user=u password='p ?' dbname=db", "u", "p ?", "db"],
  [
    String.raw`host = h  USER = 'u v' password='it\'s \\ here' user=w`,
    "w",
    String.raw`it's \ here`,
    undefined,
  ],
  [String.raw`host=h user=u password=a\ b dbname=''`, "u", "a b", undefined],
  ["postgresql://u:p@/?host=%2Frun%2Fpg&dbname=x", "u", "p", "x"],
  ["postgres://u:p@h/db?user=v&password=a+b%26&dbname=x%2Fy", "v", "a+b&", "x/y"],
  ["postgres://h?dbname=a&dbname=b&user=u&password=p", "u", "p", "b"],
  ["postgres://h/?user=u&password=p%3D%3D=&dbname=db", "u", "p===", "db"],
  ["postgres://u:p@h/a%2Fb#c", "u", "p", "a/b#c"],
];

for (const [text, ...expected] of logins) {
  Deno.test(`connectionTargets reads user and password of ${text}`, () => {
    const { user, password, database } = connectionTargets(text).servers[0]!;
    deepStrictEqual([user, password, database], expected);
  });
}

const sessions: readonly (readonly [text: string, session: SessionTarget])[] = [
  ["postgres://h/db", "any"],
  ["postgres://h/db?target_session_attrs=read-only", "read-only"],
  ["postgres://a,b?target_session_attrs=prefer-standby", "prefer-standby"],
  ["host=h target_session_attrs=primary", "primary"],
  ["host=h target_session_attrs='standby'", "standby"],
  ["postgres://h/db?target_session_attrs=any", "any"],
];

for (const [text, session] of sessions) {
  Deno.test(`connectionTargets reads what the session of ${text} is for`, () => {
    strictEqual(connectionTargets(text).session, session);
  });
}

/** What a string and the environment make of one server's settings beside its place. */
const applied: readonly (readonly [
  text: string,
  settings: Readonly<Record<string, unknown>>,
  environment?: Readonly<Record<string, string>>,
])[] = [
  ["postgres://", {}],
  ["postgres://?application_name=a%20b&fallback_application_name=c", {
    application_name: "a b",
    fallback_application_name: "c",
  }],
  ["postgres://?options=-c%20geqo%3Doff", { options: "-c geqo=off" }],
  ["options='-c geqo=off'", { options: "-c geqo=off" }],
  ["postgres://?connect_timeout=3", { connectionTimeoutMillis: 3000 }],
  ["connect_timeout=3", { connectionTimeoutMillis: 3000 }],
  ["postgres://?connect_timeout=0", {}],
  ["postgres://?connect_timeout=-1", {}],
  ["postgres://?connect_timeout=99999999", { connectionTimeoutMillis: 2147483647 }],
  ["postgres://", { connectionTimeoutMillis: 4000 }, { PGCONNECT_TIMEOUT: "4" }],
  ["postgres://?connect_timeout=3", { connectionTimeoutMillis: 3000 }, { PGCONNECT_TIMEOUT: "4" }],
  ["postgres://?keepalives=0", { keepAlive: false }],
  ["postgres://?keepalives=1&keepalives_idle=60", { keepAliveInitialDelayMillis: 60000 }],
  ["postgres://?channel_binding=require", { channel_binding: "require" }],
  [
    "postgres://?client_encoding=latin1&keepalives_interval=0&keepalives_count=0" +
    "&tcp_user_timeout=0&sslcompression=0&krbsrvname=x&gsslib=gssapi&gssdelegation=0" +
    "&gssencmode=prefer&sslsni=1&min_protocol_version=3.0&max_protocol_version=latest" +
    "&replication=false&authtype=x&target_session_attrs=&load_balance_hosts=disable",
    {},
  ],
];

for (const [text, settings, environment] of applied) {
  const beside = environment === undefined ? "" : ` beside ${JSON.stringify(environment)}`;
  Deno.test(`connectionTargets applies the options of ${text || "an empty text"}${beside}`, () => {
    const { ssl, sslmode, ...others } = connectionTargets(text, { environment }).servers[0]!;
    deepStrictEqual(others, settings);
    deepStrictEqual([ssl, sslmode], [{ rejectUnauthorized: false }, "prefer"]);
  });
}

Deno.test("connectionTargets takes from the environment what the string leaves open", () => {
  const environment = { PGHOST: "a,b", PGPORT: "1,2", PGTARGETSESSIONATTRS: "standby" };
  for (const text of ["postgres://", "postgres://u@/db", "user=u"]) {
    const { servers, session } = connectionTargets(text, { environment });
    deepStrictEqual(servers.map(({ host, port }) => [host, port]), [["a", 1], ["b", 2]]);
    strictEqual(session, "standby");
  }
  const text = "postgres://h:3/db?target_session_attrs=any";
  const given = connectionTargets(text, { environment });
  deepStrictEqual([given.servers[0]!["host"], given.servers[0]!["port"]], ["h", 3]);
  strictEqual(given.session, "any");
});

const files: Readonly<Record<string, string>> = {
  "/ca": "CA",
  "/cert": "CERT",
  "/key": "KEY",
  "/crl": "CRL",
};

function readFile(path: string): string {
  const text = files[path];
  if (text === undefined) throw new Error(`no ${path}`);
  return text;
}

/** `ssl`; functions show as their names. */
const encryption: readonly (readonly [
  text: string,
  ssl: unknown,
  environment?: Readonly<Record<string, string>>,
])[] = [
  ["postgres://h", { rejectUnauthorized: false }],
  ["postgres:///db?host=/run/pg", false],
  ["postgres://h?sslmode=disable", false],
  ["postgres://h?sslmode=allow", { rejectUnauthorized: false }],
  ["postgres://h?sslmode=prefer", { rejectUnauthorized: false }],
  ["postgres://h?sslmode=require", { rejectUnauthorized: false }],
  ["postgres://h?ssl=true", { rejectUnauthorized: false }],
  ["host=h sslmode=require", { rejectUnauthorized: false }],
  ["host=h sslmode=disable", false],
  ["postgres://h?sslmode=require&sslrootcert=/ca", { ca: "CA", checkServerIdentity: "function" }],
  ["host=h sslmode=verify-ca sslrootcert=/ca", { ca: "CA", checkServerIdentity: "function" }],
  ["postgres://h?sslmode=verify-full", {}],
  ["postgres://h?sslmode=verify-full&sslrootcert=system", {}],
  ["postgres://h?sslrootcert=system", {}],
  ["postgres://h?sslrootcert=/ca", { ca: "CA" }],
  ["postgres://h?sslmode=verify-full&sslrootcert=/ca&sslcrl=/crl", { ca: "CA", crl: "CRL" }],
  ["postgres://h?sslmode=verify-full&sslcert=/cert&sslkey=/key&sslpassword=pw", {
    cert: "CERT",
    key: "KEY",
    passphrase: "pw",
  }],
  ["postgres://h?sslmode=verify-full&sslcert=/cert&sslkey=/key&sslcertmode=disable", {}],
  [
    "postgres://h?sslmode=verify-full&ssl_min_protocol_version=tlsv1.2" +
    "&ssl_max_protocol_version=TLSv1.3",
    { minVersion: "TLSv1.2", maxVersion: "TLSv1.3" },
  ],
  ["postgres:///db?host=/run/pg&sslmode=verify-full", false],
  ["postgres://h?sslnegotiation=direct", {}],
  ["postgres://h", { rejectUnauthorized: false }, { PGSSLMODE: "require" }],
  ["postgres://h?sslmode=disable", false, { PGSSLMODE: "require" }],
];

for (const [text, expected, environment] of encryption) {
  const beside = environment === undefined ? "" : ` beside ${JSON.stringify(environment)}`;
  Deno.test(`connectionTargets encrypts as ${text} says${beside}`, () => {
    const { ssl } = connectionTargets(text, { environment, readFile }).servers[0]!;
    const shown = typeof ssl !== "object" ? ssl : Object.fromEntries(
      Object.entries(ssl as object)
        .map(([name, value]) => [name, typeof value === "function" ? "function" : value]),
    );
    deepStrictEqual(shown, expected);
  });
}

const refused: readonly (readonly [text: string, message: string])[] = [
  ["postgres://a:1,b:2/db?port=1,2,3", "could not match 3 port numbers to 2 hosts"],
  ["host=a,b,c port=1,2", "could not match 2 port numbers to 3 hosts"],
  ["postgres://h:99999/db", "the connection string has an invalid port number"],
  ["postgres://h?port=0", "the connection string has an invalid port number"],
  ["postgres://user:secret/word@h/db", "the connection string has an invalid port number"],
  ["host=h port=0", "the connection string has an invalid port number"],
  ["postgres://h?target_session_attrs=write", 'invalid target_session_attrs value: "write"'],
  ["host=h target_session_attrs=READ-ONLY", 'invalid target_session_attrs value: "READ-ONLY"'],
  ["postgres://h?schema=public", 'invalid URI query parameter: "schema"'],
  ["postgres://h?dbname=x&DBNAME=secret", 'invalid URI query parameter: "DBNAME"'],
  ["postgres://h?hostaddr=1", 'invalid URI query parameter: "hostaddr"'],
  ["service=secret", 'invalid connection option "service"'],
  ["postgres://h?ssl=1", 'invalid URI query parameter: "ssl"'],
  ["postgres://h?constructor=1", 'invalid URI query parameter: "constructor"'],
  ["postgres://h?dbname", 'missing "=" in URI query parameter: "dbname"'],
  [
    "postgres://user:1/a?secret=b@h/db",
    "the connection string has an unknown parameter, or a special character that is not " +
    "percent-encoded",
  ],
  ["host=h schema=public", 'invalid connection option "schema"'],
  ...[["tmp_db", 1], ["host", 1], ["host=h nonsense", 8], ["=h", 1], ["host='h", 6]].map((
    [text, at],
  ) =>
    [
      String(text),
      `db-uri is neither a URI nor a list of keyword=value pairs (at character ${at})`,
    ] as const
  ),
  ...[
    "tcp_user_timeout=3000",
    "keepalives_interval=1",
    "keepalives_count=2",
    "gssencmode=require",
    "sslsni=0",
    "min_protocol_version=3.2",
    "replication=database",
    "load_balance_hosts=random",
    "require_auth=md5",
    "channel_binding=yes",
    "connect_timeout=3s",
    "keepalives=on",
    "ssl_min_protocol_version=SSLv3",
    "sslcertmode=require",
    "sslmode=no-verify",
    "sslnegotiation=auto",
  ].map((pair) => {
    const [keyword, value] = pair.split("=");
    return [`postgres://h?${pair}`, `invalid ${keyword} value: "${value}"`] as const;
  }),
  ["postgres://h?sslmode=verify-ca", 'sslmode "verify-ca" needs sslrootcert'],
  [
    "postgres://h?sslmode=require&sslrootcert=system",
    'weak sslmode "require" may not be used with sslrootcert=system (use "verify-full")',
  ],
  [
    "postgres://h?sslmode=prefer&sslnegotiation=direct",
    'weak sslmode "prefer" may not be used with sslnegotiation=direct (use "require", ' +
    '"verify-ca", or "verify-full")',
  ],
  [
    "postgres://h?sslmode=require&ssl_min_protocol_version=TLSv1.3" +
    "&ssl_max_protocol_version=TLSv1.2",
    "invalid SSL protocol version range",
  ],
  ["postgres://h?sslmode=verify-full&sslrootcert=/none", "no /none"],
];

for (const [text, message] of refused) {
  Deno.test(`connectionTargets refuses ${text}`, () => {
    throws(() => connectionTargets(text, { readFile }), { message });
    ok(!message.includes("secret"));
  });
}

/** Variables of the environment that cannot be applied, and the message. */
const refusedVariables: readonly (readonly [string, string, string])[] = [
  ["PGREQUIREAUTH", "md5", 'invalid require_auth value: "md5"'],
  ["PGLOADBALANCEHOSTS", "random", 'invalid load_balance_hosts value: "random"'],
];

for (const [name, value, message] of refusedVariables) {
  Deno.test(`connectionTargets refuses ${name} of the environment`, () => {
    throws(() => connectionTargets("postgres://h", { environment: { [name]: value } }), {
      message,
    });
  });
}
