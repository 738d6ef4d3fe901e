import { deepStrictEqual } from "node:assert/strict";
import { secretWarnings } from "../../../../src/process/cli/secret_flags.ts";
import type { OptionKey } from "../../../../src/state/config/options.ts";

const rows: readonly (readonly [key: OptionKey, value: string, part: string | null])[] = [
  ["jwt-secret", "reallyreallyreallyreallyverysafe", "a secret"],
  ["jwt-secret", "@secret", null],
  ["jwt-secret", "", null],
  ["db-uri", "postgres://me:pw@h/x", "a password"],
  ["db-uri", "postgres://me@h/x?password=pw", "a password"],
  ["db-uri", "host=h password=pw", "a password"],
  ["db-uri", "postgres://me@h/x", null],
  ["db-uri", "postgres://me:p%w@h:port/x", null],
  ["db-uri", "pglite://memory", null],
  ["db-uri", "@uri", null],
  ["db-pool", "5", null],
];

for (const [key, value, part] of rows) {
  Deno.test(`secretWarnings() of --${key}=${value} names ${part ?? "no secret"}`, () => {
    const variable = `SVC_${key.toUpperCase().replace("-", "_")}`;
    const expected = part === null ? [] : [
      `warning: --${key} contains ${part}, which other users of this machine can read; ` +
      `set ${variable} instead`,
    ];
    const flags = new Map([[key, { name: `--${key}`, value }]]);
    deepStrictEqual(secretWarnings(flags), expected);
  });
}

Deno.test("secretWarnings() of a connection string names variables that keep quick mode", () => {
  const flag = { name: "the connection string", value: "postgres://me:pw@h/x" };
  deepStrictEqual(secretWarnings(new Map([["db-uri", flag]])), [
    "warning: the connection string contains a password, which other users of this machine can " +
    "read; set PGPASSWORD or DATABASE_URL instead",
  ]);
});
