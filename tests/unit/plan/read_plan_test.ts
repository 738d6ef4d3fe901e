import { deepStrictEqual } from "node:assert/strict";
import { pgrstDialect } from "../../../src/dialect.ts";
import { makeAliases } from "../../../src/plan/aliases.ts";
import { neededColumns } from "../../../src/plan/read_plan.ts";
import { embedRange, rootRange } from "../../../src/plan/limit_offset.ts";
import type { QueryParams } from "../../../src/request/query_types.ts";
import {
  all,
  api,
  at,
  by,
  cache,
  column,
  count,
  embed,
  filter,
  isNull,
  place,
  planOf,
  spread,
} from "../../support/reading.ts";

function representation(name: string, parts: Partial<QueryParams>, maxRows: number | null = null) {
  const relation = cache.relation(api(name))!;
  const source = { kind: "rows", alias: name, relation, origin: relation } as const;
  return planOf(
    name,
    parts,
    { source, purpose: "representation", bounds: { first: 2n, last: 3n } },
    {
      dbMaxRows: maxRows,
    },
  );
}

const needs: readonly [name: string, parts: Partial<QueryParams>, columns: string[] | "all"][] = [
  ["all columns", {}, "all"],
  ["selected columns, sorted", { select: [column("name"), column("id")] }, ["id", "name"]],
  ["each column once", { select: [column("id"), column(place("id", "->", "a"))] }, ["id"]],
  ["columns of aggregates", { select: [column("city", { aggregate: "max" }), count] }, ["city"]],
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

Deno.test("planRead() leaves filters and row ranges to the write", () => {
  const { root } = representation("makers", {
    select: [column("name"), embed("tools", [all])],
    filters: [at("", filter("nope", ["eq", "1"])), at("tools", filter("price", ["gt", "1"]))],
    logic: [],
    order: [at("", [by("name")])],
    limits: [at("tools", { limit: 1n, offset: 1n })],
  }, 1);
  const noRange = { limit: null, offset: null, isRequested: false };
  deepStrictEqual([root.conditions, root.range, root.embeds[0]!.node.range], [
    [],
    noRange,
    noRange,
  ]);
  deepStrictEqual([root.order.length, root.embeds[0]!.node.conditions.length], [1, 1]);
});

Deno.test("planRead() ignores filters of a write on embeds", () => {
  const filters = [at("", isNull("tools")), at("", filter("tools", ["eq", "1"]))];
  const { root } = representation("makers", { select: [embed("tools", [all])], filters });
  deepStrictEqual([root.conditions, root.embeds[0]!.inner], [[], false]);
});

Deno.test("planRead() applies the maximum of rows to the root and to embeds of many", () => {
  const { root } = planOf(
    "tools",
    {
      select: [embed("makers", [all]), embed("sheds", [all]), embed("tool_sheds", [all])],
      limits: [
        at("sheds", { limit: 2n, offset: null }),
        at("tool_sheds", { limit: 9n, offset: 1n }),
      ],
    },
    { bounds: { first: 5n, last: 99n } },
    { dbMaxRows: 7 },
  );
  deepStrictEqual(root.range, { limit: "7", offset: "5", isRequested: true });
  deepStrictEqual(root.embeds.map(({ node }) => node.range), [
    { limit: null, offset: null, isRequested: false },
    { limit: "2", offset: null, isRequested: true },
    { limit: "7", offset: "1", isRequested: true },
  ]);
});

Deno.test("planRead() lists every column of all nodes in a to-many spread", () => {
  const kinds = (select: QueryParams["select"]) => {
    const { root } = planOf("makers", { select }, {}, { dialect: pgrstDialect });
    const [spreadOrEmbed] = root.embeds;
    return [root, spreadOrEmbed!.node, spreadOrEmbed!.node.embeds[0]!.node].map(({ items }) =>
      items[0]!.kind
    );
  };
  const below = [all, embed("manuals", [all])];
  deepStrictEqual(kinds([all, spread("tools", below)]), ["all", "column", "column"]);
  deepStrictEqual(kinds([all, embed("tools", below)]), ["all", "all", "all"]);
});

Deno.test("rootRange() counts the maximum from the first row", () => {
  deepStrictEqual(
    [
      rootRange({ first: 0n, last: null }, null),
      rootRange({ first: 3n, last: null }, 10),
      rootRange({ first: 3n, last: 4n }, 10),
      rootRange({ first: 0n, last: -1n }, 10),
    ].map(({ limit, offset }) => [limit, offset]),
    [[null, null], ["10", "3"], ["2", "3"], ["0", null]],
  );
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
