import { strictEqual } from "node:assert/strict";
import type { BodyFormat } from "../../../../src/api/plan/negotiate.ts";
import type { Filter, LogicGroup } from "../../../../src/api/request/url/query_types.ts";
import { rowFormatOf } from "../../../../src/api/query/rows_form.ts";
import { at, filter, group, place, planOf } from "../../../support/handler/reading.ts";

const array: BodyFormat = { kind: "array", stripped: false };
const byId = filter("id", ["eq", "1"]);
const anyId = filter("id", { kind: "compare", operator: "eq", quantifier: "any", value: "{1}" });

const rows: readonly (readonly [
  name: string,
  relation: string,
  filter: Filter | LogicGroup,
  form: "single value" | "rows",
])[] = [
  ["the primary key", "tools", byId, "single value"],
  ["a key of another name", "manuals", filter("tool_id", ["eq", "1"]), "single value"],
  ["another column", "tools", filter("maker_id", ["eq", "1"]), "rows"],
  ["a range of the key", "tools", filter("id", ["gt", "1"]), "rows"],
  ["all keys but one", "tools", filter("id", ["eq", "1"], true), "rows"],
  ["any of several keys", "tools", anyId, "rows"],
  ["a path into the key", "tools", filter(place("id", "->>", "a"), ["eq", "1"]), "rows"],
  ["a key or another column", "tools", group("or", [byId, byId]), "rows"],
  ["the key of a view, which may repeat", "shop", byId, "rows"],
];

for (const [name, relation, tree, form] of rows) {
  Deno.test(`rowFormatOf() returns the form of a ${form} for a filter on ${name}`, () => {
    const parts = tree.kind === "filter" ? { filters: [at("", tree)] } : { logic: [at("", tree)] };
    strictEqual(rowFormatOf(array, planOf(relation, parts)), form === "rows" ? array : null);
  });
}

Deno.test("rowFormatOf() returns the form of rows for a key of which one column has a filter", () => {
  const source = planOf("tools", { filters: [at("", byId)] });
  const relation = { ...source.relation!, primaryKey: ["id", "name"] };
  strictEqual(rowFormatOf(array, { ...source, relation }), array);
});
