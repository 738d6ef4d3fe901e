import { deepStrictEqual } from "node:assert/strict";
import { makeAliases } from "../../../../src/api/plan/read/resolved_tree.ts";
import { neededColumns } from "../../../../src/api/plan/read/read_plan.ts";
import { embedRange } from "../../../../src/api/plan/query_limits.ts";
import type { QueryParams, SelectItem } from "../../../../src/api/request/url/query_types.ts";
import {
  all,
  api,
  at,
  by,
  cache,
  column,
  count,
  embed,
  place,
  planOf,
} from "../../../support/handler/reading.ts";

function representation(name: string, parts: Partial<QueryParams>, maxRows: number | null = null) {
  const relation = cache.relation(api(name))!;
  const source = { kind: "representation", alias: name, relation, origin: relation } as const;
  return planOf(
    name,
    parts,
    { source, bounds: { first: 2n, last: 3n } },
    { dbMaxRows: maxRows },
  );
}

const maxCity: SelectItem = {
  kind: "value",
  value: {
    field: { name: "city", path: [] },
    steps: [{ kind: "call", name: "max", arguments: [] }],
  },
  alias: null,
};

const needs: readonly [name: string, parts: Partial<QueryParams>, columns: string[] | "all"][] = [
  ["all columns", {}, "all"],
  ["selected columns, sorted", { select: [column("name"), column("id")] }, ["id", "name"]],
  ["each column once", { select: [column("id"), column(place("id", "->", "a"))] }, ["id"]],
  ["columns of aggregates", { select: [maxCity, count] }, ["city"]],
  ["columns of the order", { select: [column("id")], order: [at("", [by("name")])] }, [
    "id",
    "name",
  ]],
  ["keys of embeds", { select: [column("name"), embed("tools", [column("price")])] }, [
    "id",
    "name",
  ]],
  ["functions of the row beside columns", { select: [column("shout"), column("id")] }, [
    "id",
    "shout",
  ]],
  ["functions of the row beside all columns", { select: [all, column("shout")] }, [
    "id",
    "name",
    "city",
    "shout",
  ]],
  ["the whole row for computed relationships", { select: [embed("latest", [all])] }, "all"],
  ["nothing for counting rows", { select: [column("count")] }, []],
];

for (const [name, parts, columns] of needs) {
  Deno.test(`neededColumns() lists ${name}`, () => {
    deepStrictEqual(neededColumns(representation("makers", parts)), columns);
  });
}

Deno.test("neededColumns() lists keys of a junction", () => {
  deepStrictEqual(neededColumns(representation("tools", { select: [embed("sheds", [all])] })), [
    "id",
  ]);
});

Deno.test("embedRange() accepts any integer, which PostgreSQL may reject", () => {
  const texts = [-1n, 0n, 9007199254740993n, 10n ** 21n].map((limit) =>
    embedRange({ limit, offset: null }, null).limit
  );
  deepStrictEqual(texts, ["-1", "0", "9007199254740993", "1000000000000000000000"]);
  deepStrictEqual(embedRange({ limit: 10n ** 21n, offset: null }, 5).limit, "5");
  deepStrictEqual(embedRange({ limit: -1n, offset: -1n }, 5), {
    limit: "-1",
    offset: "-1",
    isRequested: true,
  });
});

Deno.test("makeAliases() returns short names other than the root's", () => {
  const aliases = makeAliases("tools_2");
  deepStrictEqual([aliases("tools"), aliases("tools"), aliases("a_very_long_name")], [
    "tools_1",
    "tools_3",
    "a_very_long__4",
  ]);
  const { length } = new TextEncoder().encode(makeAliases("x")("𝒳".repeat(60)));
  deepStrictEqual(length <= 63, true);
});
