import { deepStrictEqual, throws } from "node:assert/strict";
import { parseContract } from "../../../../../src/wings/audit/contract/contract.ts";
import { contractChanges } from "../../../../../src/wings/audit/contract/diff.ts";

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
    "a new required column of a relation with a dot in its name",
    'relation api."a.c": select insert',
    'relation api."a.c": select insert\ncolumn api."a.c"."b.d": text, required',
    ['breaking column api."a.c"."b.d": new: text, required'],
  ],
  [
    "a required column of a new relation",
    "relation api.a: select insert",
    "relation api.a: select insert\nrelation api.b: select insert\n" +
    "column api.b.c: text, required",
    ["safe column api.b.c: new: text, required", "safe relation api.b: new: select insert"],
  ],
  [
    "E5: a column was revoked",
    "column api.doc.team: text\ngrant web_user api.doc select: id, team",
    "column api.doc.team: text\ngrant web_user api.doc select: id",
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
    'grant "Anon" api.a select: id',
    'grant "Anon" api.a select: id, secret',
    ['breaking grant "Anon" api.a select: wider: secret'],
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
    "EXECUTE was revoked",
    "grant web_user api.f execute: all",
    "",
    [
      "breaking grant web_user api.f execute: lost all; grant execute on function api.f to web_user;",
    ],
  ],
  [
    "DELETE was revoked",
    "relation api.a: select\ngrant web_user api.a delete: all",
    "relation api.a: select",
    ["breaking grant web_user api.a delete: lost all; grant delete on api.a to web_user;"],
  ],
  [
    "a column was dropped, and so was its grant",
    "column api.a.b: text\ngrant web_user api.a select: b, c",
    "grant web_user api.a select: c",
    ["breaking column api.a.b: lost: text"],
  ],
  [
    "names with commas in a grant",
    'column api.a."b, c": text\ncolumn api.a.b: text\ngrant web_user api.a select: "b, c", b',
    'column api.a."b, c": text\ncolumn api.a.b: text\ngrant web_user api.a select: b',
    [
      'breaking grant web_user api.a select: lost "b, c"; ' +
      'grant select ("b, c") on api.a to web_user;',
    ],
  ],
  [
    "a column with the name all",
    'column api.a."all": text\ngrant web_user api.a select: "all"',
    'column api.a."all": text',
    [
      'breaking grant web_user api.a select: lost "all"; ' +
      'grant select ("all") on api.a to web_user;',
    ],
  ],
  [
    "labels with spaces and commas",
    'column api.a.b: api.c, enum "red, required" blue',
    'column api.a.b: api.c, enum "red, required" "blue green"',
    [
      'breaking column api.a.b: was api.c, enum "red, required" blue, ' +
      'is api.c, enum "red, required" "blue green"',
    ],
  ],
  [
    "a type whose name looks like labels",
    'column api.a.b: api."c, enum x y"',
    'column api.a.b: api."c, enum x"',
    ['breaking column api.a.b: was api."c, enum x y", is api."c, enum x"'],
  ],
  [
    "a key whose name looks like two",
    'relation api.a: select, key "b, key c"',
    'relation api.a: select, key "b, key d"',
    ['breaking relation api.a: was select, key "b, key c", is select, key "b, key d"'],
  ],
  [
    "another constraint of a name with an exclamation mark",
    'embed api.a "b!c": one',
    'embed api.a "b!c": two',
    ['maybe embed api.a "b!c": was one, is two'],
  ],
  [
    "a constraint with the name ambiguous",
    "embed api.a b: ambiguous",
    "embed api.a b: two",
    ["maybe embed api.a b: was ambiguous, is two"],
  ],
  [
    "a function to many rows in the place of one to one",
    "embed api.a b: function to one",
    "embed api.a b: function to many",
    ["breaking embed api.a b: was function to one, is function to many"],
  ],
  [
    "an overload whose parameters have spaces in their names",
    'function api.f("a b" integer): integer, stable',
    'function api.f("a b" integer): integer, stable\nfunction api.f("a c" text): integer, stable',
    ['safe function api.f("a c" text): new: integer, stable'],
  ],
  [
    "an overload with the same variadic parameter",
    "function api.f(a variadic integer[]): integer, stable",
    "function api.f(a variadic integer[]): integer, stable\n" +
    "function api.f(a variadic text[]): integer, stable",
    ["maybe function api.f(a variadic text[]): new: integer, stable"],
  ],
  [
    "facts that svc does not write",
    "grant x: y\nfunction x: y",
    "grant x: z",
    ["breaking function x: lost: y", "safe grant x: gained: z"],
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
    const contracts = { old: contractOf(old), now: contractOf(now) };
    const changes = contractChanges({ ...contracts, anonymous: "Anon" });
    deepStrictEqual(
      changes.map(({ level, text, sql }) => `${level} ${text}${sql === null ? "" : `; ${sql}`}`),
      expected,
    );
  });
}

Deno.test("contractChanges() compares no policies of another major version", () => {
  const policy = "policy api.a own: all to public using";
  const [old, now] = [contractOf(`${policy} (a = 1)`), contractOf(`${policy} (a=1)`, 18)];
  const changes = contractChanges({ old, now, anonymous: null });
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
