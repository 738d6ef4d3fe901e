import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { readViewRule } from "../../../../src/state/schema_cache/view_columns.ts";

const table = 16416;

/** Captured from the server; `views.sql` beside the files defines the views. */
const captured = [
  { version: 15, odd: 16428, nested: 16432, united: 16437 },
  { version: 18, odd: 16429, nested: 16433, united: 16438 },
] as const;

for (const { version, odd, nested, united } of captured) {
  const url = new URL(`../../../fixtures/view_rules/postgresql_${version}.txt`, import.meta.url);
  const texts = Deno.readTextFileSync(url).split(/ (?=\d+ \(\{QUERY )/);
  const rules = new Map(texts.map(readViewRule));

  Deno.test(`readViewRule() reads every view of PostgreSQL ${version}`, () => {
    deepStrictEqual([...rules.keys()], [odd, nested, united]);
  });

  Deno.test(`readViewRule() reads names that look like labels in PostgreSQL ${version}`, () => {
    deepStrictEqual(rules.get(odd), [
      { position: 1, relation: table, column: 1 },
      { position: 2, relation: table, column: 2 },
      { position: 3, relation: table, column: 3 },
    ]);
  });

  Deno.test(`readViewRule() reads the outermost query only in PostgreSQL ${version}`, () => {
    deepStrictEqual(rules.get(nested), [
      { position: 1, relation: table, column: 1 },
      { position: 4, relation: table, column: 2 },
    ]);
  });

  Deno.test(`readViewRule() returns no columns of a union in PostgreSQL ${version}`, () => {
    deepStrictEqual(rules.get(united), []);
  });
}

const entry = (fields: string) => `7 ({QUERY :targetList ({TARGETENTRY ${fields}})})`;

const rows: readonly {
  readonly name: string;
  readonly text: string;
  readonly gives: readonly (readonly number[])[];
}[] = [
  { name: "a null tree", text: "7 <>", gives: [] },
  { name: "an empty list", text: "7 ()", gives: [] },
  {
    name: "one entry",
    text: entry(":resno 1 :resname a :resorigtbl 4294967295 :resorigcol 3 :resjunk false"),
    gives: [[1, 4294967295, 3]],
  },
  {
    name: "a computed column",
    text: entry(":resno 1 :resorigtbl 0 :resorigcol 0"),
    gives: [],
  },
  { name: "an entry without an origin", text: entry(":resno 1 :resname a"), gives: [] },
  {
    name: "names that look like fields, brackets and nulls",
    text: entry(":resno 1 :resname :resorigtbl :resorigtbl 5 :resname \\}\\) :resorigcol 3"),
    gives: [[1, 5, 3]],
  },
  {
    name: "values of several atoms",
    text: entry(":odd 4 [ 1 0 ] :bits (b 1 2) :resno 1 :resorigtbl 5 :resorigcol 3"),
    gives: [[1, 5, 3]],
  },
  {
    name: "target lists of nested queries",
    text: "7 ({QUERY :cteList ({X :q {QUERY :targetList ({TARGETENTRY :resno 1 :resorigtbl 5 " +
      ":resorigcol 1})}}) :targetList ({TARGETENTRY :expr {S :q {QUERY :targetList ({TARGETENTRY " +
      ":resno 9 :resorigtbl 6 :resorigcol 6})}} :resno 2 :resorigtbl 8 :resorigcol 3}) :limit {L " +
      ":targetList ({TARGETENTRY :resno 3 :resorigtbl 9 :resorigcol 1})}})",
    gives: [[2, 8, 3]],
  },
  {
    name: "text that ends early",
    text: "7 ({QUERY :targetList ({TARGETENTRY :resno 1 :resorigtbl 5 :resorigcol 3",
    gives: [[1, 5, 3]],
  },
  { name: "text that ends in an escape", text: "7 ({QUERY :targetList \\", gives: [] },
];

for (const { name, text, gives } of rows) {
  Deno.test(`readViewRule() reads ${name}`, () => {
    const [oid, columns] = readViewRule(text);
    strictEqual(oid, 7);
    deepStrictEqual(columns.map((c) => [c.position, c.relation, c.column]), gives);
  });
}

for (const text of [")", "7 )", "}{", "( ) (", "7 ({QUERY })} 8 ()", ":", "7 ({QUERY :a})"]) {
  Deno.test(`readViewRule() terminates with ${text}`, () => {
    strictEqual(Array.isArray(readViewRule(text)[1]), true);
  });
}

Deno.test("readViewRule() skips deep nesting without recursion", () => {
  const depth = 1_000_000;
  const deep = `${"({X :a ".repeat(depth)}1${"})".repeat(depth)}`;
  const text = `7 ({QUERY :jointree ${deep} :targetList ` +
    `({TARGETENTRY :expr ${deep} :resno 1 :resorigtbl 5 :resorigcol 3})})`;
  deepStrictEqual(readViewRule(text)[1], [{ position: 1, relation: 5, column: 3 }]);
});
