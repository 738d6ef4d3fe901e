import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { type QueryName, type SchemaCacheQuery } from "../../../../src/state/schema_cache/load.ts";
import {
  loadStatements,
  splitLoadResults,
} from "../../../../src/state/app_state/metadata_reader.ts";

const names: readonly QueryName[] = [
  "settings",
  "view rules",
  "relations",
  "foreign keys",
  "routines",
  "computed relationships",
  "representations",
  "media handlers",
];
const queries: readonly SchemaCacheQuery[] = names.map((name) => ({
  name,
  text: `select '${name}'`,
  params: [],
  parse: JSON.parse,
}));

Deno.test("loadStatements() reads the clock only in a timed load", () => {
  const statements = loadStatements(queries, { timed: false });
  deepStrictEqual(statements.map(({ text }) => text), queries.map(({ text }) => text));
  const answers = names.map((name) => [name]);
  deepStrictEqual(splitLoadResults(answers, queries), { answers, timings: null });
});

Deno.test("splitLoadResults() returns the time between two readings of the clock", () => {
  const statements = loadStatements(queries, { timed: true });
  strictEqual(statements.length, 2 * queries.length + 1);
  let time = 1000;
  const values = statements.map(({ text }, at) => {
    if (!text.includes("clock_timestamp")) return [names[(at - 1) / 2]!];
    // The first query takes 0 ms, the second 1, the third 2, …
    time += Math.max(0, at / 2 - 1);
    return [String(time)];
  });
  const { answers, timings } = splitLoadResults(values, queries);
  deepStrictEqual(answers, names.map((name) => [name]));
  deepStrictEqual(timings?.map(({ name, ms }) => [name, ms]), [
    ["tables", 2],
    ["keydeps", 1],
    ["rels", 3],
    ["funcs", 4],
    ["comprels", 5],
    ["dreps", 6],
    ["mhandlers", 7],
  ]);
});
