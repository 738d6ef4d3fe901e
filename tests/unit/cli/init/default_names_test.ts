import { strictEqual } from "node:assert/strict";
import { freeLoginRole } from "../../../../src/cli/init/default_names.ts";

const long = "é".repeat(31);

const rows: readonly (readonly [
  label: string,
  existing: readonly string[],
  known: readonly string[],
  database: string,
  name: string,
])[] = [
  ["the usual role", [], [], "shop", "authenticator"],
  [
    "the usual role whose password is known",
    ["authenticator"],
    ["authenticator"],
    "shop",
    "authenticator",
  ],
  ["a role of the database", ["authenticator"], ["me"], "shop", "authenticator_shop"],
  [
    "the database's role whose password is known",
    ["authenticator", "authenticator_shop"],
    ["authenticator_shop"],
    "shop",
    "authenticator_shop",
  ],
  [
    "a numbered role",
    ["authenticator", "authenticator_shop", "authenticator_shop_2"],
    [],
    "shop",
    "authenticator_shop_3",
  ],
  ["a name of 63 bytes", ["authenticator"], [], long, `authenticator_${"é".repeat(24)}`],
  [
    "a numbered name of 63 bytes",
    ["authenticator", `authenticator_${"é".repeat(24)}`],
    [],
    long,
    `authenticator_${"é".repeat(23)}_2`,
  ],
];

for (const [label, existing, known, database, name] of rows) {
  Deno.test(`freeLoginRole() returns ${label}`, () => {
    strictEqual(freeLoginRole(database, { existing, known }), name);
  });
}
