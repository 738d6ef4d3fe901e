import { deepStrictEqual, throws } from "node:assert/strict";
import { parseContract } from "../../../src/contract/contract.ts";
import { contractChanges } from "../../../src/contract/diff.ts";

/** Old and new lines, and the changes. */
const rows: readonly (readonly [
  label: string,
  old: string,
  now: string,
  changes: readonly string[],
])[] = [
  ["E1: equal facts", "relation api.a: select, key id", "relation api.a: select, key id", []],
  [
    "E2: a second key",
    "embed api.doc note: note_doc_id_fkey",
    "embed api.doc note: ambiguous: note_doc_id_fkey, note_source_id_fkey",
    [
      "breaking embed api.doc note: was note_doc_id_fkey, is ambiguous: note_doc_id_fkey, " +
      "note_source_id_fkey",
    ],
  ],
  [
    "E3: int to bigint",
    "column api.a.b: integer",
    "column api.a.b: bigint",
    ["breaking column api.a.b: was integer, is bigint"],
  ],
  [
    "E4: a column became required",
    "column api.a.b: text, nullable",
    "column api.a.b: text, required",
    ["breaking column api.a.b: was text, nullable, is text, required"],
  ],
  [
    "E4: a new required column",
    "relation api.a: select insert",
    "relation api.a: select insert\ncolumn api.a.b: text, required",
    ["breaking column api.a.b: new: text, required"],
  ],
  [
    "E5: a column was revoked",
    "grant web_user api.doc select: id, team",
    "grant web_user api.doc select: id",
    [
      "breaking grant web_user api.doc select: lost team; " +
      "grant select (team) on api.doc to web_user;",
    ],
  ],
  [
    "E6: an overload with the same parameter names",
    "function api.f(a integer): integer, stable",
    "function api.f(a integer): integer, stable\nfunction api.f(a text): integer, stable",
    ["maybe function api.f(a text): new: integer, stable"],
  ],
  [
    "E7: a parameter with a default",
    "function api.f(a integer): integer, stable",
    "function api.f(a integer, b integer = default): integer, stable",
    [
      "safe function api.f(a integer): is function api.f(a integer, b integer = default): " +
      "integer, stable",
      "safe function api.f(a integer, b integer = default): new: integer, stable",
    ],
  ],
  [
    "a required parameter",
    "function api.f(a integer): integer, stable",
    "function api.f(a integer, b integer): integer, stable",
    [
      "breaking function api.f(a integer): lost: integer, stable",
      "safe function api.f(a integer, b integer): new: integer, stable",
    ],
  ],
  [
    "a function became volatile",
    "function api.f(): integer, stable",
    "function api.f(): integer, volatile",
    ["breaking function api.f(): was integer, stable, is integer, volatile"],
  ],
  [
    "a column became nullable",
    "column api.a.b: text",
    "column api.a.b: text, nullable",
    ["maybe column api.a.b: was text, is text, nullable"],
  ],
  [
    "an enum label was added",
    "column api.a.b: api.c, enum red",
    "column api.a.b: api.c, enum red blue",
    ["maybe column api.a.b: was api.c, enum red, is api.c, enum red blue"],
  ],
  [
    "a method was lost",
    "relation api.a: select insert",
    "relation api.a: select",
    ["breaking relation api.a: was select insert, is select"],
  ],
  [
    "a key was lost",
    "relation api.a: select, key id",
    "relation api.a: select",
    ["breaking relation api.a: was select, key id, is select"],
  ],
  [
    "another constraint",
    "embed api.a b: one",
    "embed api.a b: two",
    ["maybe embed api.a b: was one, is two"],
  ],
  [
    "another cardinality",
    "embed api.a b!one: one-to-many",
    "embed api.a b!one: one-to-one",
    ["breaking embed api.a b!one: was one-to-many, is one-to-one"],
  ],
  [
    "the anonymous role gained a column",
    "grant anon api.a select: id",
    "grant anon api.a select: id, secret",
    ["breaking grant anon api.a select: wider: secret"],
  ],
  [
    "another role gained an action",
    "relation api.a: select",
    "relation api.a: select\ngrant web_user api.a delete: all",
    ["safe grant web_user api.a delete: gained: all"],
  ],
  [
    "a policy changed",
    "policy api.a own: all to public using (a = 1)",
    "policy api.a own: all to public using true",
    ["maybe policy api.a own: was all to public using (a = 1), is all to public using true"],
  ],
  [
    "a colon in a name",
    'column api."a: b".c: text',
    'column api."a: b".c: integer',
    ['breaking column api."a: b".c: was text, is integer'],
  ],
];

function contractOf(lines: string, major = 15) {
  return parseContract(
    `# svc contract 1, PostgreSQL ${major}, schemas api\n${lines}\n`,
    "a.contract",
  );
}

for (const [label, old, now, expected] of rows) {
  Deno.test(`contractChanges() ${label}`, () => {
    const changes = contractChanges(contractOf(old), contractOf(now), "anon");
    deepStrictEqual(
      changes.map(({ level, text, sql }) => `${level} ${text}${sql === null ? "" : `; ${sql}`}`),
      expected,
    );
  });
}

Deno.test("contractChanges() compares no policies of another major version", () => {
  const policy = "policy api.a own: all to public using";
  const changes = contractChanges(
    contractOf(`${policy} (a = 1)`),
    contractOf(`${policy} (a=1)`, 18),
    null,
  );
  deepStrictEqual(changes, []);
});

const invalid = [
  ["", /^Error: a\.contract:1: expected # svc contract 1/],
  [
    "# svc contract 1, PostgreSQL 15, schemas api\ncolumn",
    /^Error: a\.contract:2: expected a fact/,
  ],
  ["# svc contract 1, PostgreSQL 15, schemas api\na b: c\na b: d", /^Error: a\.contract:3: /],
] as const;

for (const [text, message] of invalid) {
  Deno.test(`parseContract() refuses ${JSON.stringify(text)}`, () => {
    throws(() => parseContract(text, "a.contract"), message);
  });
}
