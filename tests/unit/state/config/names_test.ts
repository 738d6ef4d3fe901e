import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { appSettingOf, camelCase, environmentName } from "../../../../src/state/config/names.ts";
import { nearest } from "../../../../src/base/lib/nearest.ts";
import { rowsOf } from "../../../../src/state/config/options.ts";
import { wingOptions } from "../../../../src/process/wings.ts";

const rows = rowsOf({ wingOptions });

Deno.test("camelCase names the field of a key", () => {
  strictEqual(camelCase("jwt-secret-is-base64"), "jwtSecretIsBase64");
  strictEqual(camelCase("dialect"), "dialect");
});

Deno.test("environmentName names the variable of a key", () => {
  strictEqual(environmentName("db-max-rows"), "SVC_DB_MAX_ROWS");
  strictEqual(environmentName("dialect", "X"), "X_DIALECT");
});

Deno.test("appSettingOf names the setting of a variable", () => {
  strictEqual(appSettingOf("SVC_APP_SETTINGS_aB"), "app.settings.aB");
  strictEqual(appSettingOf("SVC_APP_SETTINGS_"), null);
  strictEqual(appSettingOf("APP_SETTINGS_x"), null);
  strictEqual(appSettingOf("svc_app_settings_x"), null);
});

Deno.test("options have no spelling twice and are in order", () => {
  const keys: readonly string[] = rows.map(([key]) => key);
  deepStrictEqual(keys, keys.toSorted());
  const spellings = rows.flatMap(([key, { aliases = [] }]) => [key, ...aliases]);
  deepStrictEqual(spellings, Array.from(new Set(spellings)));
});

Deno.test("options have descriptions of one sentence", () => {
  for (const [key, { doc }] of rows) {
    strictEqual(/^[A-Z`][^\n]*\.$/.test(doc) && !/\. [A-Z]/.test(doc), true, key);
  }
});

const suggestions: readonly (readonly [word: string, expected: string | null])[] = [
  ["alpha", "alpha"],
  ["ALPHA", "alpha"],
  ["alhpa", "alpha"],
  ["alph", "alpha"],
  ["alphabet", null],
  ["beta", "beta"],
  ["eta", "beta"],
  ["x", null],
  ["", null],
  ["a".repeat(100_000), null],
];

for (const [word, expected] of suggestions) {
  Deno.test(`nearest suggests ${expected} for ${JSON.stringify(word.slice(0, 20))}`, () => {
    strictEqual(nearest(word, ["alpha", "beta", "gamma-delta"]), expected);
  });
}
