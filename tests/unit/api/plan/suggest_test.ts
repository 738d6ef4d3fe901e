import { strictEqual } from "node:assert/strict";
import { suggest } from "../../../../src/api/plan/suggest.ts";
import { assertLinearTime } from "../../../support/timing/linear_time.ts";

const rows: readonly {
  readonly query: string;
  readonly among: readonly string[];
  readonly minimum: number;
  readonly gives: string | null;
}[] = [
  { query: "projectx", among: ["projects"], minimum: 0.75, gives: "projects" },
  { query: "projecxx", among: ["projects"], minimum: 0.75, gives: "projects" },
  { query: "projxxxx", among: ["projects"], minimum: 0.75, gives: null },
  { query: "PROJECTS", among: ["other", "Projects"], minimum: 0.75, gives: "Projects" },
  { query: "(id)", among: ["(attr, id)"], minimum: 0.33, gives: "(attr, id)" },
  { query: "(nam)", among: ["(name)"], minimum: 0.33, gives: "(name)" },
  { query: "(A, B, C)", among: ["(data)"], minimum: 0.33, gives: null },
  {
    query: "(a, b, wrong_arg)",
    among: ["()", "(a, b)", "(a, b, c)"],
    minimum: 0.33,
    gives: "(a, b, c)",
  },
  { query: "(wrong_arg)", among: ["()", "(a, b)", "(a, b, c)"], minimum: 0.33, gives: null },
  {
    query: "car_model_sales_202101",
    among: ["car_model_sales"],
    minimum: 0.33,
    gives: "car_model_sales",
  },
  { query: "car_model_sales_202101", among: ["car_model_sales"], minimum: 0.75, gives: null },
  { query: "tool", among: ["makers", "tools", "tool_sheds"], minimum: 0.75, gives: "tools" },
  { query: "sayhell", among: ["sayhello", "sayhi"], minimum: 0.75, gives: "sayhello" },
  { query: "maker", among: ["tools", "makers"], minimum: 0.33, gives: "makers" },
  { query: "nope", among: ["sites", "people"], minimum: 0.33, gives: "people" },
  { query: "abx", among: ["aby"], minimum: 0.33, gives: "aby" },
  // Shares pairs of letters only, so that the second group size decides.
  { query: "aXb", among: ["ab"], minimum: 0.33, gives: "ab" },
  { query: "привет_миx", among: ["привет_мир"], minimum: 0.75, gives: "привет_мир" },
  { query: "___", among: ["____"], minimum: 0.75, gives: "____" },
  { query: "", among: ["a"], minimum: 0.33, gives: null },
  { query: "a", among: [], minimum: 0.33, gives: null },
  // Names of object members are names like others.
  { query: "constructor", among: ["constructors"], minimum: 0.75, gives: "constructors" },
  { query: "__proto__", among: ["a"], minimum: 0, gives: null },
  { query: "tostrin", among: ["toString", "valueOf"], minimum: 0.75, gives: "toString" },
  { query: "b".repeat(1_000_000), among: ["bbb"], minimum: 0.33, gives: null },
];

for (const { query, among, minimum, gives } of rows) {
  const shown = query.length > 40 ? `${query.slice(0, 10)}… (${query.length})` : query;
  Deno.test(`suggest() returns ${gives} for ${shown} among [${among}] from ${minimum}`, () => {
    strictEqual(suggest(query, among, minimum), gives);
  });
}

Deno.test("suggest() searches in time linear in the number of names", () => {
  const make = (count: number) =>
    Array.from({ length: count }, (_, index) => `some_function_name_${index}`);
  const run = (names: readonly string[]) =>
    strictEqual(suggest("some_function_nam_1", names, 0.75) === null, false);
  assertLinearTime("a list", { size: 8000, make, run });
});
