import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { withCommands } from "../../../../src/api/transaction/preamble.ts";
import {
  planContextOf,
  searchPathOf,
  settingsStatement,
  type TransactionSettings,
} from "../../../../src/api/transaction/settings.ts";

const plain: TransactionSettings = {
  searchPath: searchPathOf("api", ['we"ird']),
  role: "web_anon",
  restored: [],
  roleSettings: [],
  timeoutMs: null,
  claims: '{"role":"web_anon"}',
  method: "GET",
  path: "/items",
  headers: { host: "h" },
  cookies: {},
  requestId: null,
  applicationName: null,
  batchPosition: null,
  timezone: null,
  overrides: [],
};
const values = [
  '"api", "we""ird", pg_temp',
  "web_anon",
  '{"role":"web_anon"}',
  "GET",
  "/items",
  '{"host":"h"}',
  "{}",
];
const clean = "pg_catalog.set_config('response.headers', '', true), " +
  "pg_catalog.set_config('response.status', '', true), " +
  "pg_catalog.set_config('timezone', null, true), pg_catalog.set_config('jit', 'off', true)";
const text = joined(
  "pg_catalog.set_config('search_path', $1, true), " + clean +
    ", pg_catalog.set_config('role', $2, true), " +
    "pg_catalog.set_config('request.jwt.claims', $3, true), pg_catalog.set_config('request.method', $4, true), " +
    "pg_catalog.set_config('request.path', $5, true), pg_catalog.set_config('request.headers', $6, true), " +
    "pg_catalog.set_config('request.cookies', $7, true)",
);

/** Returns the statement that evaluates a list of settings. */
function joined(settings: string): string {
  return `select where (${
    settings.replaceAll("), pg_catalog.set", ") operator(pg_catalog.||) pg_catalog.set")
  }) is null`;
}

const contexts:
  readonly (readonly [name: string, other: Partial<TransactionSettings>, isSame: boolean])[] = [
    ["other claims", { claims: "{}", path: "/other", overrides: [["app.settings.a", "b"]] }, true],
    ["another role", { role: "web_user" }, false],
    ["another search path", { searchPath: searchPathOf("other", []) }, false],
    ["a role named like a path", { searchPath: '"api"', role: ', "we""ird"web_anon' }, false],
  ];

for (const [name, other, isSame] of contexts) {
  Deno.test(`planContextOf() returns ${isSame ? "the same" : "another"} context for ${name}`, () => {
    strictEqual(planContextOf(plain) === planContextOf({ ...plain, ...other }), isSame);
  });
}

Deno.test("settingsStatement sets everything in one statement, values as parameters", () => {
  deepStrictEqual(settingsStatement(plain, "block"), {
    text,
    params: values,
    use: "none",
    isShared: true,
  });
});

Deno.test("settingsStatement says what a transaction without BEGIN does not say", () => {
  const jit = "pg_catalog.set_config('jit', 'off', true)";
  const begin = (readOnly: string) =>
    "pg_catalog.set_config('transaction_isolation', 'read committed', true) operator(pg_catalog.||) " +
    `pg_catalog.set_config('transaction_read_only', ${readOnly}, true)`;
  for (
    const [form, readOnly] of [
      ["read only", "'on'"],
      ["read write", "pg_catalog.pg_is_in_recovery()::pg_catalog.text"],
    ] as const
  ) {
    const said = settingsStatement(plain, form);
    strictEqual(said.text, text.replace(jit, begin(readOnly)));
  }
});

Deno.test("settingsStatement gives one text for requests of one shape", () => {
  const other = { ...plain, role: "'; drop table x; --", path: "/other", claims: "{}" };
  strictEqual(settingsStatement(other, "block").text, text);
});

Deno.test("settingsStatement sets role settings before the role and later ones at the end", () => {
  const { text, params } = settingsStatement({
    ...plain,
    roleSettings: [["work_mem", "5000"]],
    timezone: "UTC",
    overrides: [["statement_timeout", "4s"], ["app.settings.a", "b"]],
  }, "block");
  strictEqual(
    text,
    joined(
      "pg_catalog.set_config('search_path', $1, true), " + clean +
        ", pg_catalog.set_config('role', 'none', true), pg_catalog.set_config($2, $3, true), " +
        "pg_catalog.set_config('role', $4, true), pg_catalog.set_config('request.jwt.claims', $5, true), " +
        "pg_catalog.set_config('request.method', $6, true), pg_catalog.set_config('request.path', $7, true), " +
        "pg_catalog.set_config('request.headers', $8, true), pg_catalog.set_config('request.cookies', $9, true), " +
        "pg_catalog.set_config($10, $11, true), pg_catalog.set_config($12, $13, true), pg_catalog.set_config($14, $15, true)",
    ),
  );
  deepStrictEqual(params, [
    values[0],
    "work_mem",
    "5000",
    ...values.slice(1),
    "timezone",
    "UTC",
    "statement_timeout",
    "4s",
    "app.settings.a",
    "b",
  ]);
});

Deno.test("settingsStatement sets a timeout unless that of the connection is stricter", () => {
  const { text: written, params } = settingsStatement({ ...plain, timeoutMs: 1500 }, "block");
  const current = "pg_catalog.current_setting('statement_timeout')";
  const and = " operator(pg_catalog.||) ";
  const added = `${and}pg_catalog.set_config('statement_timeout', null, true)${and}` +
    `pg_catalog.set_config('statement_timeout', case when ${current} operator(pg_catalog.<>) '0' and\n` +
    `${current}::pg_catalog.interval operator(pg_catalog.<) $2::pg_catalog.text::pg_catalog.interval ` +
    `then ${current} else $2::pg_catalog.text end, true)`;
  const found = `'jit', 'off', true)${added}${and}pg_catalog.set_config('role', $3`;
  strictEqual(written.includes(found), true, written);
  deepStrictEqual(params, [values[0], "1500ms", ...values.slice(1)]);
});

Deno.test("settingsStatement restores the timeout of the connection", () => {
  const { text: written, params } = settingsStatement({ ...plain, timeoutMs: 0 }, "block");
  const and = " operator(pg_catalog.||) ";
  const added = `${and}pg_catalog.set_config('statement_timeout', null, true)${and}`;
  const found = `'jit', 'off', true)${added}pg_catalog.set_config('role', $2`;
  strictEqual(written.includes(found), true, written);
  deepStrictEqual(params, values);
});

const before = [
  "set local citus.propagate_set_commands = 'local'",
  'set local search_path to "api", "we""ird", pg_temp',
];
const request = [
  `set local "request"."jwt"."claims" = E'{"role":"web_anon"}'`,
  `set local "request"."method" = E'GET'`,
  `set local "request"."path" = E'/items'`,
  `set local "request"."headers" = E'{"host":"h"}'`,
  `set local "request"."cookies" = E'{}'`,
];

const rows: readonly (readonly [
  name: string,
  settings: Partial<TransactionSettings>,
  texts: readonly string[],
])[] = [
  ["what every request has", {}, [...before, ...request]],
  ["no role, as Citus connects as the current user", { role: `o'"\\` }, [...before, ...request]],
  [
    "the identifiers of a request",
    { requestId: "r'1", applicationName: "a", batchPosition: "0/2" },
    [
      ...before,
      "set local citus.multi_shard_modify_mode = 'sequential'",
      ...request,
      `set local "request"."id" = E'r\\U000000271'`,
      `set local "request"."batch" = E'0/2'`,
    ],
  ],
  ["the time zone", { timezone: "Asia/Tokyo" }, [
    ...before,
    ...request,
    `set local "timezone" = E'Asia/Tokyo'`,
  ]],
  ["settings of the application, and no others", {
    restored: ["app.old", "work_mem"],
    roleSettings: [["pgaudit.log", "all"], ["lock_timeout", "5s"]],
    overrides: [["work_mem", "1MB"], ["app.settings.x", "y"]],
    timeoutMs: 1000,
  }, [...before, ...request, `set local "app"."settings"."x" = E'y'`]],
];

for (const [name, settings, texts] of rows) {
  Deno.test(`withCommands() repeats ${name}`, () => {
    const all = { ...plain, ...settings };
    const own = settingsStatement(all, "block");
    const statements = withCommands(own, all);
    strictEqual(statements[2], own);
    const commands = statements.toSpliced(2, 1);
    deepStrictEqual(commands.map(({ text }) => text), texts);
    // Texts with values are neither kept prepared nor logged.
    deepStrictEqual(new Set(commands.map(({ hasValues }) => hasValues)), new Set([true]));
  });
}
