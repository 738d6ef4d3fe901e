import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { readViewRules } from "../../../src/schema_cache/pg_node_tree.ts";

const table = 16416;

/** Captured from the server; `views.sql` beside the files defines the views. */
const captured = [
  { version: 15, odd: 16428, nested: 16432, united: 16437 },
  { version: 18, odd: 16429, nested: 16433, united: 16438 },
] as const;

for (const { version, odd, nested, united } of captured) {
  const url = new URL(`../../fixtures/view_rules/postgresql_${version}.txt`, import.meta.url);
  const rules = readViewRules(Deno.readTextFileSync(url));

  Deno.test(`readViewRules() reads every view of PostgreSQL ${version}`, () => {
    deepStrictEqual([...rules.keys()], [odd, nested, united]);
  });

  Deno.test(`readViewRules() reads names that look like labels in PostgreSQL ${version}`, () => {
    deepStrictEqual(rules.get(odd), [
      { position: 1, relation: table, column: 1 },
      { position: 2, relation: table, column: 2 },
      { position: 3, relation: table, column: 3 },
    ]);
  });

  Deno.test(`readViewRules() reads the outermost query only in PostgreSQL ${version}`, () => {
    deepStrictEqual(rules.get(nested), [
      { position: 1, relation: table, column: 1 },
      { position: 4, relation: table, column: 2 },
    ]);
  });

  Deno.test(`readViewRules() returns no columns of a union in PostgreSQL ${version}`, () => {
    deepStrictEqual(rules.get(united), []);
  });
}

const entry = (fields: string) => `7 ({QUERY :targetList ({TARGETENTRY ${fields}})})`;

const rows: readonly {
  readonly name: string;
  readonly text: string;
  readonly gives: readonly (readonly [number, readonly (readonly number[])[]])[];
}[] = [
  { name: "nothing", text: "", gives: [] },
  { name: "white space", text: " \n\t", gives: [] },
  { name: "a null tree", text: "7 <>", gives: [[7, []]] },
  { name: "an empty list", text: "7 ()", gives: [[7, []]] },
  {
    name: "several views",
    text: "7 ({QUERY :targetList <>}) 8 ({QUERY :targetList ()}) 9 ()",
    gives: [[7, []], [8, []], [9, []]],
  },
  {
    name: "one entry",
    text: entry(":resno 1 :resname a :resorigtbl 4294967295 :resorigcol 3 :resjunk false"),
    gives: [[7, [[1, 4294967295, 3]]]],
  },
  {
    name: "a computed column",
    text: entry(":resno 1 :resorigtbl 0 :resorigcol 0"),
    gives: [[7, []]],
  },
  { name: "an entry without an origin", text: entry(":resno 1 :resname a"), gives: [[7, []]] },
  {
    name: "names that look like fields, brackets and nulls",
    text: entry(":resno 1 :resname :resorigtbl :resorigtbl 5 :resname \\}\\) :resorigcol 3"),
    gives: [[7, [[1, 5, 3]]]],
  },
  {
    name: "values of several atoms",
    text: entry(":odd 4 [ 1 0 ] :bits (b 1 2) :resno 1 :resorigtbl 5 :resorigcol 3"),
    gives: [[7, [[1, 5, 3]]]],
  },
  {
    name: "target lists of nested queries",
    text: "7 ({QUERY :cteList ({X :q {QUERY :targetList ({TARGETENTRY :resno 1 :resorigtbl 5 " +
      ":resorigcol 1})}}) :targetList ({TARGETENTRY :expr {S :q {QUERY :targetList ({TARGETENTRY " +
      ":resno 9 :resorigtbl 6 :resorigcol 6})}} :resno 2 :resorigtbl 8 :resorigcol 3}) :limit {L " +
      ":targetList ({TARGETENTRY :resno 3 :resorigtbl 9 :resorigcol 1})}})",
    gives: [[7, [[2, 8, 3]]]],
  },
  {
    name: "text that ends early",
    text: "7 ({QUERY :targetList ({TARGETENTRY :resno 1 :resorigtbl 5 :resorigcol 3",
    gives: [[7, [[1, 5, 3]]]],
  },
  { name: "text that ends in an escape", text: "7 ({QUERY :targetList \\", gives: [[7, []]] },
];

for (const { name, text, gives } of rows) {
  Deno.test(`readViewRules() reads ${name}`, () => {
    const read = Array.from(
      readViewRules(text),
      ([oid, columns]) => [oid, columns.map((c) => [c.position, c.relation, c.column])],
    );
    deepStrictEqual(read, gives);
  });
}

for (const text of [")", "7 )", "}{", "( ) (", "7 ({QUERY })} 8 ()", ":", "7 ({QUERY :a})"]) {
  Deno.test(`readViewRules() terminates with ${text}`, () => {
    strictEqual(readViewRules(text) instanceof Map, true);
  });
}

Deno.test("readViewRules() skips deep nesting without recursion", () => {
  const depth = 1_000_000;
  const deep = `${"({X :a ".repeat(depth)}1${"})".repeat(depth)}`;
  const text = `7 ({QUERY :jointree ${deep} :targetList ` +
    `({TARGETENTRY :expr ${deep} :resno 1 :resorigtbl 5 :resorigcol 3})})`;
  deepStrictEqual(readViewRules(text).get(7), [{ position: 1, relation: 5, column: 3 }]);
});
