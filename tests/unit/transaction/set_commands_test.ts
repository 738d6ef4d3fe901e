import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { withCommands } from "../../../src/transaction/set_commands.ts";
import {
  searchPathOf,
  settingsStatement,
  type TransactionSettings,
} from "../../../src/transaction/settings.ts";

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

const before = [
  "set local citus.propagate_set_commands = 'local'",
  'set local search_path to "api", "we""ird"',
];
const role = `set local "role" = E'web_anon'`;
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
  ["what every request has", {}, [...before, role, ...request]],
  ["a role with quotes", { role: `o'"\\` }, [
    ...before,
    `set local "role" = E'o\\U00000027"\\U0000005c'`,
    ...request,
  ]],
  [
    "the identifiers of a request",
    { requestId: "r'1", applicationName: "a", batchPosition: "0/2" },
    [
      ...before,
      role,
      ...request,
      `set local "request"."id" = E'r\\U000000271'`,
      `set local "request"."batch" = E'0/2'`,
    ],
  ],
  ["the time zone", { timezone: "Asia/Tokyo" }, [
    ...before,
    role,
    ...request,
    `set local "timezone" = E'Asia/Tokyo'`,
  ]],
  ["settings of the application, and no others", {
    restored: ["app.old", "work_mem"],
    roleSettings: [["pgaudit.log", "all"], ["lock_timeout", "5s"]],
    overrides: [["work_mem", "1MB"], ["app.settings.x", "y"]],
    timeoutMs: 1000,
  }, [...before, role, ...request, `set local "app"."settings"."x" = E'y'`]],
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
