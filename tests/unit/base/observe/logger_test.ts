import { strictEqual } from "node:assert/strict";
import { diagnostics } from "../../../../src/base/observe/diagnostics.ts";
import { type Diagnostic, isLogged } from "../../../../src/base/observe/observation.ts";
import { redact } from "../../../../src/base/lib/redact.ts";
import { textLines } from "../../../../src/base/observe/text_lines.ts";
import { assertLinearTime } from "../../../support/timing/linear_time.ts";
import type { LogLevel } from "../../../../src/base/log_level.ts";

const call = { program: "npx ./svc-api.tgz", source: "my.conf" };
const { diagnostic } = textLines(call, () => -300);
const diagnosticLine = (event: Diagnostic) => diagnostic(event, Date.UTC(2026, 4, 6, 13, 16, 11));
const prefix = "06/May/2026:08:16:11 -0500: ";

const error = {
  code: "SVC000",
  message: "Database connection error.",
  details: 'connection to "h" failed:\n\tpassword=hunter2',
  hint: null,
};
const json = '{"code":"SVC000","details":"connection to \\"h\\" failed: password=***",' +
  '"hint":null,"message":"Database connection error."}';

const bug = new Error("boom");
bug.stack = "Error: boom\n    at f (a.ts:1:2)\r\n\tat g\u001b[31m";

/** Fields of an event, its text, and the lowest level that logs it, `crit` unless given. Texts that need no care are not repeated. */
const events: {
  readonly [Kind in Diagnostic["kind"]]?: readonly [
    fields: Omit<Extract<Diagnostic, { readonly kind: Kind }>, "kind">,
    text: string | readonly string[],
    level?: LogLevel,
  ];
} = {
  "connecting": [{ attempt: 2 }, "Attempting to connect to the database (attempt 2)...", "debug"],
  "connected": [
    { version: "PostgreSQL 15.18\n(Debian)" },
    "Successfully connected to PostgreSQL 15.18 (Debian)",
  ],
  "connect-failed": [{ error }, `Failed to establish a connection. ${json}`],
  "connection-lost": [{ error }, json, "error"],
  "pool-timeout": [{ error }, json, "error"],
  "schema-cache-queried": [{ ms: 3.84 }, "Schema cache queried in 3.8 milliseconds "],
  "schema-cache-loaded": [{
    counts: { relations: 15, relationships: 8, functions: 7, representations: 0, mediaHandlers: 4 },
    ms: 0.149,
  }, [
    "Schema cache loaded 15 Relations, 8 Relationships, 7 RPCs, 0 Domain Representations, " +
    "4 Media Type Handlers",
    "Schema cache loaded in 0.1 milliseconds",
  ]],
  "schema-cache-failed": [
    { schemas: ["a", "b"], extraSearchPath: ["public"], error },
    "Failed to load the schema cache using db-schemas=a,b and db-extra-search-path=public. " + json,
  ],
  "schema-cache-timings": [
    { timings: [{ name: "tables", ms: 1.234 }, { name: "keydeps", ms: 0.5 }] },
    "tables: 1.2 ms, keydeps: 0.5 ms",
    "debug",
  ],
  "listener-connected": [
    { version: "PostgreSQL 18", place: "localhost:5432", channel: "svc" },
    'Listener connected to PostgreSQL 18 on "localhost:5432" and listening for database ' +
    'notifications on the "svc" channel',
  ],
  "listener-failed": [
    { channel: "svc", reason: "failed: refused\n\tIs it running?\n" },
    'Failed listening for database notifications on the "svc" channel. failed: refused Is it running?',
  ],
  "standby-excluded": [
    { place: "db2:5432", reason: "it does not answer\n" },
    "WARNING: Standby db2:5432 executes no reads: it does not answer",
  ],
  "standby-foreign": [
    { place: "db2:5432" },
    "db-replica-uri: db2:5432 is not a standby of db-uri: its system identifier differs",
  ],
  "findings": [{ count: 7 }, "The database has 7 findings: npx ./svc-api.tgz check my.conf"],
  "listener-cleanup-failed": [{ reason: "no" }, "Failed during listener connection cleanup: no"],
  "version-failed": [{ error }, `Failed to query the PostgreSQL version. ${json}`],
  "pooler-found": [
    { mode: "transaction", error },
    "If you are using connection poolers in transaction mode, try setting db-prepared-statements " +
    `to false. ${json}`,
  ],
  "statement-refused": [
    { error, name: "SVC" },
    `This is probably a bug in SVC, please report it. ${json}`,
  ],
  "pool-connection": [
    { id: "7f", step: "terminated: max idletime" },
    "Connection 7f is terminated due to max idletime",
    "debug",
  ],
  "jwks-failed": [
    { issuer: "https://id.test", reason: "status 500" },
    "Failed to fetch the keys of https://id.test: status 500",
    "error",
  ],
  "revocations-failed": [{ error }, `Failed to load the revocations of tokens. ${json}`, "error"],
  "config-reload-failed": [
    { message: "svc.conf:3: db-pool: expected\na number" },
    "Failed reloading config: Error in config svc.conf:3: db-pool: expected a number",
  ],
  "declared-key-ignored": [
    { problem: 'comment of api.v: relation api.v has no column "x"' },
    'Declared key ignored: comment of api.v: relation api.v has no column "x"',
  ],
  "agent-write": [
    {
      role: "agent",
      tool: "delete_rows",
      method: "DELETE",
      target: "/todos?id=eq.5",
      status: 200,
      rows: 1,
    },
    "Agent as agent: delete_rows DELETE /todos?id=eq.5 200 1 rows",
    "info",
  ],
  "database-config-failed": [
    {
      what: "configuration",
      error: { code: "42883", message: "function f() does not exist", details: null, hint: null },
    },
    "Failed to query database settings for the config parameters." +
    '{"code":"42883","details":null,"hint":null,"message":"function f() does not exist"}',
  ],
  "legacy-role-path": [{ path: '."roles"."user_role"', guide: "See the guide." }, [
    'WARNING: The config `jwt-role-claim-key=."roles"."user_role"` is using the deprecated ' +
    "JSPath syntax.",
    'Update `jwt-role-claim-key=."roles"."user_role"` to the new JSONPath syntax as support ' +
    "for JSPath will be removed in a future release. See the guide.",
  ]],
  "target-names-used": [{
    uses: [["films", "all_films"], ["awards", "best\n"]],
    method: "GET",
    target: "/directors?select=all_films:films(title)&films.order=title&token=eyJhbGciOi.x.y",
  }, [
    "WARNING: Embedded resource was referenced by relation name even though it has an alias. " +
    "This is deprecated and will stop working in a future release.",
    "Update filters, orders or limits that use `films` to `all_films`, `awards` to `best ` in " +
    "`GET /directors?select=all_films:films(title)&films.order=title&token=***`",
  ]],
  "request-failed": [{ error }, json, "error"],
  "error-advised": [
    {
      code: "42501",
      message: "permission denied for table a\nb",
      advice: "grant select on api.a to r;",
    },
    "42501 permission denied for table a b. Hint: grant select on api.a to r;",
    "warn",
  ],
  "request-advised": [
    { advice: "limit has no effect: it is not an integer" },
    "Hint: limit has no effect: it is not an integer",
    "warn",
  ],
  "response-aborted": [
    { method: "GET", target: "/films?title=eq.a%0A", error },
    `Aborted the response to GET /films?title=eq.a%0A: ${json}`,
    "error",
  ],
  "embedded-init-changed": [
    { path: "my.sql", folder: "data" },
    "WARNING: my.sql has changed since data was made; it is applied once: delete the folder, or run " +
    "npx ./svc-api.tgz sql --file=my.sql my.conf",
  ],
  "unexpected-error": [
    { error: bug },
    "Unexpected error: Error: boom     at f (a.ts:1:2) at g [31m",
    "error",
  ],
  "tenant-failed": [
    { reason: "a.conf:2: x: unknown key", retrySeconds: 4, tenant: "acme" },
    "tenant acme: Cannot serve the tenant: a.conf:2: x: unknown key; the next attempt follows after 4 " +
    "seconds",
  ],
};

const eventRows = Object.entries(events).map(([kind, [fields, text, level = "crit"]]) => ({
  event: { kind, ...fields } as Diagnostic,
  text: [text].flat(),
  level,
}));

for (const { event, text, level } of eventRows) {
  Deno.test(`diagnosticLine() writes ${event.kind}, from ${level} on`, () => {
    strictEqual(diagnosticLine(event), text.map((line) => prefix + line).join("\n"));
    strictEqual(diagnostics[event.kind].severity, level);
  });
}

Deno.test("isLogged() accepts events as severe as the level or more", () => {
  strictEqual(isLogged("error", "crit"), false);
  strictEqual(isLogged("error", "error"), true);
  strictEqual(isLogged("crit", "debug"), true);
  strictEqual(isLogged("debug", "info"), false);
});

const variants: readonly (readonly [event: Diagnostic, text: string])[] = [
  [{ kind: "connecting", attempt: 1 }, "Attempting to connect to the database..."],
  [{ kind: "pool-connection", id: "7f", step: "used" }, "Connection 7f is used"],
  [
    { kind: "listening", what: "admin", address: "/tmp/a.sock" },
    "Admin server listening on /tmp/a.sock",
  ],
  [
    { kind: "pooler-found", mode: "statement", error },
    `Connection poolers in statement mode are not supported. ${json}`,
  ],
  [
    { kind: "reload-requested", what: "config", channel: "a\nb" },
    'Received a config reload message on the "a b" channel',
  ],
  [{ kind: "embedded-starting", folder: null }, "Starting the embedded PostgreSQL in memory..."],
  [{ kind: "unexpected-error", error: "text" }, "Unexpected error: text"],
  [{ kind: "unexpected-error", error: Symbol("s") }, "Unexpected error: Symbol(s)"],
  [
    { kind: "unexpected-error", error: Object.create(null) },
    "Unexpected error: a thrown object that is not an error",
  ],
  [
    { kind: "request-failed", error: { ...error, details: [{ a: "x\ny" }] } },
    '{"code":"SVC000","details":[{"a":"x y"}],"hint":null,"message":"Database connection error."}',
  ],
];

for (const [event, text] of variants) {
  Deno.test(`diagnosticLine() writes ${JSON.stringify(text)}`, () => {
    strictEqual(diagnosticLine(event), prefix + text);
  });
}

const redacted: readonly (readonly [source: string, expected: string])[] = [
  ["plain text, a@b.c", "plain text, a@b.c"],
  [" a\n\tb\r\nc\u2028d\u001b[0m ", "a b c d [0m"],
  [
    'cannot parse "postgres://user:p@ss/w@host:5432/db", sorry',
    'cannot parse "postgres://***@host:5432/db", sorry',
  ],
  ["POSTGRESQL://u:p@h", "POSTGRESQL://***@h"],
  ["postgres://host/db", "postgres://host/db"],
  ["at file:///npm/@scope/pkg@1.0/x.js", "at file:///npm/@scope/pkg@1.0/x.js"],
  ["host=h password=p%4 user=u", "host=h password=*** user=u"],
  ["password = 'a b' x", "password = *** x"],
  ["PASSWORD='open", "PASSWORD=***"],
  ["?user=a&password=b&c=d", "?user=a&password=***&c=d"],
  ["Bearer eyJhbGciOiJIUzI1NiJ9.eyJyb2xlIjoiYSJ9.c2ln-_x!", "Bearer ***!"],
  ["eyJ.x", "eyJ.x"],
  ["/a?apikey=k%201;b=1&apikey=x y", "/a?apikey=***;b=1&apikey=*** y"],
  ["%20sb_secret_a-b_C, sb_publishable_x.", "%20***, ***."],
  [`"svc_${"k-".repeat(21)}k"`, '"***"'],
  [`svc_${"k".repeat(44)} sb_other_x`, `svc_${"k".repeat(44)} sb_other_x`],
  ["x".repeat(8193), "x".repeat(8192) + "…"],
];

for (const [source, expected] of redacted) {
  Deno.test(`redact() returns ${JSON.stringify(expected.slice(0, 60))}`, () => {
    strictEqual(redact(source), expected);
  });
}

Deno.test("redact() takes linear time for hostile texts", () => {
  const parts = ["eyJ.", "postgres://", "password=", "password='", "\n", "a-", "password ", "@"];
  for (const part of parts) {
    const make = (length: number) => part.repeat(length / part.length);
    assertLinearTime(`redact of ${part}`, { size: 8000, make, run: redact });
  }
});

const times: readonly (readonly [epochMs: number, offsetMinutes: number, expected: string])[] = [
  [0, 0, "01/Jan/1970:00:00:00 +0000"],
  [Date.UTC(2026, 11, 31, 23, 59, 59, 999), 330, "01/Jan/2027:05:29:59 +0530"],
  [Date.UTC(2024, 1, 29, 2, 0, 0), -150, "28/Feb/2024:23:30:00 -0230"],
];

for (const [epochMs, offsetMinutes, expected] of times) {
  Deno.test(`diagnosticLine() writes the time ${expected}`, () => {
    const format = textLines(call, () => offsetMinutes);
    strictEqual(
      format.diagnostic({ kind: "config-reloaded" }, epochMs),
      `${expected}: Config reloaded`,
    );
  });
}
