import { deepStrictEqual, strictEqual, throws } from "node:assert/strict";
import { settingCommands } from "../../../src/transaction/set_commands.ts";
import { searchPathOf, type TransactionSettings } from "../../../src/transaction/settings.ts";

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
const request = [
  `set local "request"."jwt"."claims" = E'{"role":"web_anon"}'`,
  `set local "request"."method" = E'GET'`,
  `set local "request"."path" = E'/items'`,
  `set local "request"."headers" = E'{"host":"h"}'`,
  `set local "request"."cookies" = E'{}'`,
];
const role = `set local role E'web_anon'`;

/** Returns the texts of the commands behind the coordinator's own settings. */
function commands(
  settings: Partial<TransactionSettings>,
  { jwtClaimSettings = false } = {},
): readonly string[] {
  const all = settingCommands({ ...plain, ...settings }, { jwtClaimSettings });
  strictEqual(all[2]!.text.includes("set_config('role', 'none', true)"), true);
  return all.toSpliced(2, 1).map(({ text }) => text);
}

const rows: readonly (readonly [
  name: string,
  settings: Partial<TransactionSettings>,
  texts: readonly string[],
])[] = [
  ["what every request has", {}, [...before, role, ...request]],
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
  ["settings with a prefix", {
    restored: ["app.old", "work_mem"],
    roleSettings: [["app.of_role", "1"], ["lock_timeout", "5s"]],
    overrides: [["app.settings.x", "y"]],
  }, [
    ...before,
    'set local "app"."old" to default',
    role,
    `set local "app"."of_role" = E'1'`,
    ...request,
    `set local "app"."settings"."x" = E'y'`,
  ]],
  ["other settings of a function by set_config(), as the role", {
    overrides: [["work_mem", "1MB"]],
  }, [...before, role, ...request, "select where (pg_catalog.set_config($1, $2, true)) is null"]],
];

for (const [name, settings, texts] of rows) {
  Deno.test(`settingCommands() sends ${name}`, () => {
    deepStrictEqual(commands(settings), texts);
  });
}

Deno.test("settingCommands() keeps settings of the coordinator from the workers", () => {
  const [, , own] = settingCommands({
    ...plain,
    applicationName: "svc",
    timeoutMs: 1000,
    restored: ["work_mem"],
    roleSettings: [["lock_timeout", "5s"]],
  }, { jwtClaimSettings: false });
  deepStrictEqual(own!.params, [
    plain.searchPath,
    "1000ms",
    "work_mem",
    "lock_timeout",
    "5s",
    "svc",
  ]);
  strictEqual(own!.hasValues, undefined);
});

Deno.test("settingCommands() has each text with values parsed for itself", () => {
  const all = settingCommands(plain, { jwtClaimSettings: false });
  deepStrictEqual(new Set(all.toSpliced(2, 1).map(({ hasValues }) => hasValues)), new Set([true]));
});

Deno.test("settingCommands() sets claims whose names can be those of settings", () => {
  const claims = '{"sub":"u1","n":1.5,"list":["a"],"none":null,"a.b":1,"x\\"y":1}';
  const texts = commands({ claims }, { jwtClaimSettings: true });
  deepStrictEqual(texts.filter((text) => text.includes('"claim"')), [
    `set local "request"."jwt"."claim"."sub" = E'u1'`,
    `set local "request"."jwt"."claim"."n" = E'1.5'`,
    `set local "request"."jwt"."claim"."list" = E'["a"]'`,
  ]);
});

Deno.test("settingCommands() throws for NUL in a role", () => {
  throws(() => commands({ role: "a\0" }), { message: /0x00/ });
});
