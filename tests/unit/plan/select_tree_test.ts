import { deepStrictEqual, strictEqual, throws } from "node:assert/strict";
import type { ServiceError } from "../../../src/errors/service_error.ts";
import { buildSelectTree, type SelectNode } from "../../../src/plan/select_tree.ts";
import type { QueryParams } from "../../../src/request/query_types.ts";
import {
  at,
  by,
  column,
  embed,
  filter,
  group,
  isNull,
  query,
  spread,
} from "../../support/reading.ts";

const select = [
  column("name"),
  embed("tools", [column("name"), embed("manuals", [], { alias: "m" })], { alias: "t" }),
  spread("makers", [column("city")]),
];
const legacy = { urlUseLegacyTargetNames: true };
const strict = { urlUseLegacyTargetNames: false };

/** The contents of a tree, by node. */
function outline({ item, filters, logic, order, limit, offset, children }: SelectNode): unknown {
  return {
    name: item?.target ?? "",
    filters: filters.map(({ field }) => field.name),
    logic: logic.length,
    order: order.map(({ field }) => field.name),
    bounds: [limit, offset],
    children: children.map(outline),
  };
}

const bare = { filters: [], logic: 0, order: [], bounds: [null, null], children: [] };

Deno.test("buildSelectTree() attaches parameters to the node that names and aliases address", () => {
  const { root, targetNameUses } = buildSelectTree(
    query({
      select,
      filters: [
        at("", filter("name", ["eq", "x"])),
        at("t", filter("price", ["gt", "1"])),
        at("t.m", filter("pages", ["gt", "1"])),
        at("makers", filter("city", ["eq", "Ulm"])),
      ],
      logic: [at("t", group("or", [isNull("a"), isNull("b")]))],
      order: [at("t", [by("price"), by("name")]), at("", [by("id")])],
      limits: [at("t.m", { limit: 3n, offset: null }), at("t.m", { limit: null, offset: 2n })],
    }),
    strict,
  );
  const manuals = { ...bare, name: "manuals", filters: ["pages"], bounds: [3n, 2n] };
  deepStrictEqual(outline(root), {
    ...bare,
    name: "",
    filters: ["name"],
    order: ["id"],
    children: [
      {
        ...bare,
        name: "tools",
        filters: ["price"],
        logic: 1,
        order: ["price", "name"],
        children: [manuals],
      },
      { ...bare, name: "makers", filters: ["city"] },
    ],
  });
  deepStrictEqual(targetNameUses, []);
});

Deno.test("buildSelectTree() reads an empty select as all columns, an empty embed as no columns", () => {
  deepStrictEqual(buildSelectTree(query(), strict).root.fields, [{ kind: "all" }]);
  const { root } = buildSelectTree(query({ select: [embed("tools")] }), strict);
  deepStrictEqual([root.fields, root.children[0]!.fields], [[], []]);
});

Deno.test("buildSelectTree() takes the first order of a node, by name or alias", () => {
  const order = [at("tools", [by("a")]), at("t", [by("b")])];
  const { root } = buildSelectTree(query({ select, order }), legacy);
  deepStrictEqual(root.children[0]!.order, [by("a")]);
});

Deno.test("buildSelectTree() lists aliased embeds that parameters address by their target", () => {
  const { targetNameUses } = buildSelectTree(
    query({
      select,
      filters: [at("tools", isNull("a")), at("tools.manuals", isNull("b"))],
      limits: [at("tools.m", { limit: 1n, offset: null })],
    }),
    legacy,
  );
  deepStrictEqual(targetNameUses, [["tools", "t"], ["manuals", "m"]]);
  const several = [embed("b", [], { alias: "y" }), embed("a", [], { alias: "x" }), embed("c")];
  const order = [
    at("a", [by("id")]),
    at("c", [by("id")]),
    at("b", [by("id")]),
    at("y", [by("id")]),
  ];
  deepStrictEqual(buildSelectTree(query({ select: several, order }), legacy).targetNameUses, [
    ["b", "y"],
    ["a", "x"],
  ]);
});

Deno.test("buildSelectTree() finds the first embed that a name matches", () => {
  const twice = [embed("visits", []), embed("visits", [], { alias: "work" })];
  const counts = (config: typeof legacy, path: string, items = twice) =>
    buildSelectTree(query({ select: items, filters: [at(path, isNull("a"))] }), config).root
      .children
      .map(({ filters }) => filters.length);
  deepStrictEqual(counts(legacy, "visits"), [1, 0]);
  deepStrictEqual(counts(legacy, "work"), [0, 1]);
  deepStrictEqual(counts(legacy, "visits", twice.toReversed()), [1, 0]);
  deepStrictEqual(counts(strict, "visits", twice.toReversed()), [0, 1]);
});

const notEmbedded = (name: string) => ({
  message: `'${name}' is not an embedded resource in this request`,
  details: undefined,
  hint: `Verify that '${name}' is included in the 'select' query parameter.`,
});

const refusals: readonly [
  name: string,
  Partial<QueryParams>,
  config: typeof legacy,
  texts: object,
][] = [
  ["an unknown path", { filters: [at("nope", isNull("a"))] }, legacy, notEmbedded("nope")],
  ["the unknown segment", { filters: [at("t.nope.x", isNull("a"))] }, legacy, notEmbedded("nope")],
  [
    "the last filter of several",
    { filters: [at("one", isNull("a")), at("two", isNull("a"))] },
    legacy,
    notEmbedded("two"),
  ],
  [
    "filters before orders before limits before groups",
    {
      filters: [at("filters", isNull("a"))],
      order: [at("order", [by("a")])],
      limits: [at("limits", { limit: 1n, offset: null })],
      logic: [at("logic", group("or", [isNull("a")]))],
    },
    legacy,
    notEmbedded("filters"),
  ],
  [
    "orders before limits",
    { order: [at("order", [by("a")])], limits: [at("limits", { limit: 1n, offset: null })] },
    legacy,
    notEmbedded("order"),
  ],
  [
    "limits before groups",
    {
      limits: [at("limits", { limit: 1n, offset: null })],
      logic: [at("logic", group("or", [isNull("a")]))],
    },
    legacy,
    notEmbedded("limits"),
  ],
  ["a target behind an alias", { filters: [at("tools", isNull("a"))] }, strict, {
    message: "'tools' is not an embedded resource in this request",
    details: "Target names are not allowed in filters if they have an alias",
    hint: "Change 'tools' to 't' in filters, orders or limits.",
  }],
];

for (const [name, parts, config, texts] of refusals) {
  Deno.test(`buildSelectTree() rejects ${name}`, () => {
    throws(() => buildSelectTree(query({ select, ...parts }), config), (error: ServiceError) => {
      const { code, status, message, details, hint } = error.fields;
      strictEqual(`${code} ${status}`, "108 400");
      deepStrictEqual({ message, details, hint }, texts);
      return true;
    });
  });
}
