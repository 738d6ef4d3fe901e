import { deepStrictEqual } from "node:assert/strict";
import { planConditions } from "../../../../src/api/plan/conditions.ts";
import { renderConditions, renderOrder, whereClause } from "../../../../src/api/query/condition.ts";
import type { Filter, LogicTree, Operation } from "../../../../src/api/request/url/query_types.ts";
import { compile, ident } from "../../../../src/base/sql/fragment.ts";
import { api, by, cache, filter, group, isNull, place } from "../../../support/handler/reading.ts";
import { assertLinearTime } from "../../../support/timing/linear_time.ts";

const tools = cache.relation(api("tools"))!;
const paints = cache.relation(api("paints"))!;

const values = { texts: new Map(), functions: ["*"], aggregates: true };

function where(trees: readonly LogicTree[], of = tools) {
  const filters = trees.filter((tree): tree is Filter => tree.kind === "filter");
  const groups = trees.filter((tree) => tree.kind === "group");
  const scopedCache = { ...cache, column: (_: unknown, name: string) => columnOf(of, name) };
  const conditions = planConditions(filters, groups, of, { cache: scopedCache, values });
  const { text, params } = compile(whereClause(renderConditions(conditions, ident("t"))));
  return [text, ...params];
}

function columnOf(of: typeof tools, name: string) {
  return of.columns.find((column) => column.name === name);
}

const compare = (operator: string, value = "v") => [operator, value] as ["eq", string];
const anyOf = (operator: string, value: string, quantifier: "any" | "all" = "any") =>
  ({ kind: "compare", operator, value, quantifier }) as Operation;
const inList = (...values: readonly string[]): Operation => ({ kind: "in", values });
const isWord = (word: string) => ({ kind: "is", word }) as Operation;

const comparisons: readonly [tree: LogicTree, text: string, params: readonly string[]][] = [
  [filter("id", compare("eq", "1")), `"t"."id" = $1`, ["1"]],
  [filter("id", compare("neq")), `"t"."id" <> $1`, ["v"]],
  [filter("id", compare("gt")), `"t"."id" > $1`, ["v"]],
  [filter("id", compare("gte")), `"t"."id" >= $1`, ["v"]],
  [filter("id", compare("lt")), `"t"."id" < $1`, ["v"]],
  [filter("id", compare("lte")), `"t"."id" <= $1`, ["v"]],
  [filter("name", compare("like", "a*%_")), `"t"."name" like $1`, ["a%%_"]],
  [filter("name", compare("ilike", "*a*")), `"t"."name" ilike $1`, ["%a%"]],
  [filter("name", compare("match", "a*")), `"t"."name" ~ $1`, ["a*"]],
  [filter("name", compare("imatch", "a*")), `"t"."name" ~* $1`, ["a*"]],
  [filter("tags", compare("cs", "{a}")), `"t"."tags" @> $1`, ["{a}"]],
  [filter("tags", compare("cd")), `"t"."tags" <@ $1`, ["v"]],
  [filter("tags", compare("ov")), `"t"."tags" && $1`, ["v"]],
  [filter("span", compare("sl")), `"t"."span" << $1`, ["v"]],
  [filter("span", compare("sr")), `"t"."span" >> $1`, ["v"]],
  [filter("span", compare("nxr")), `"t"."span" &< $1`, ["v"]],
  [filter("span", compare("nxl")), `"t"."span" &> $1`, ["v"]],
  [filter("span", compare("adj")), `"t"."span" -|- $1`, ["v"]],
  [filter("id", compare("eq"), true), `not ("t"."id" = $1)`, ["v"]],
  [filter("id", anyOf("eq", "{1,2}")), `"t"."id" = any ($1)`, ["{1,2}"]],
  [filter("name", anyOf("like", "{a*,*b}", "all")), `"t"."name" like all ($1)`, ["{a%,%b}"]],
  [filter("id", inList("1", "2")), `"t"."id" = any ($1)`, [`{"1","2"}`]],
  [filter("id", inList("a,b", 'x"y', "p\\q", "{", "NULL", " ")), `"t"."id" = any ($1)`, [
    `{"a,b","x\\"y","p\\\\q","{","NULL"," "}`,
  ]],
  [filter("id", inList("", "3")), `"t"."id" = any ($1)`, [`{"","3"}`]],
  [filter("id", inList("")), `"t"."id" = any ($1)`, ["{}"]],
  [filter("id", inList(), true), `not ("t"."id" = any ($1))`, ["{}"]],
  [isNull("id"), `"t"."id" is null`, []],
  [filter("id", isWord("not_null")), `"t"."id" is not null`, []],
  [filter("id", isWord("true")), `"t"."id" is true`, []],
  [filter("id", isWord("false")), `"t"."id" is false`, []],
  [filter("id", isWord("unknown"), true), `not ("t"."id" is unknown)`, []],
  [filter("id", { kind: "isdistinct", value: "1" }), `"t"."id" is distinct from $1`, ["1"]],
  [
    filter(place("spec", "->", "a b", "->>", 0), compare("eq")),
    `"t"."spec"->$1->>cast($2 as integer) = $3`,
    ["a b", "0", "v"],
  ],
  [
    filter(place("tags", "->>", -1), compare("eq")),
    `pg_catalog.to_jsonb("t"."tags")->>cast($1 as integer) = $2`,
    ["-1", "v"],
  ],
  [filter('a"b', compare("eq")), `"t"."a""b" = $1`, ["v"]],
  [
    group("or", [
      filter("id", compare("lt", "1")),
      group("and", [isNull("name"), isNull("price")]),
    ]),
    `("t"."id" < $1 or ("t"."name" is null and "t"."price" is null))`,
    ["1"],
  ],
  [group("and", [isNull("id")], true), `not ("t"."id" is null)`, []],
  [
    group("or", [isNull("id"), isNull("name")], true),
    `not (("t"."id" is null or "t"."name" is null))`,
    [],
  ],
];

for (const [tree, text, params] of comparisons) {
  Deno.test(`renderConditions() renders ${text} with ${JSON.stringify(params)}`, () => {
    deepStrictEqual(where([tree]), [` where ${text}`, ...params]);
  });
}

const converted: readonly [operation: Parameters<typeof filter>[1], text: string][] = [
  [["eq", "v"], `"t"."shade" = "api"."color"(cast($1 as pg_catalog.text))`],
  [["cs", "v"], `"t"."shade" @> "api"."color"(cast($1 as pg_catalog.text))`],
  [["match", "v"], `"t"."shade" ~ "api"."color"(cast($1 as pg_catalog.text))`],
  [["like", "v"], `"t"."shade" like $1`],
  [["ilike", "v"], `"t"."shade" ilike $1`],
  [{ kind: "isdistinct", value: "v" }, `"t"."shade" is distinct from $1`],
  [isWord("null"), `"t"."shade" is null`],
  [
    inList("v"),
    `"t"."shade" = any (array(select "api"."color"(literals.literal) from pg_catalog.unnest(cast($1 as pg_catalog.text[])) as literals(literal)))`,
  ],
  [
    anyOf("eq", "{v}"),
    `"t"."shade" = any (array(select "api"."color"(literals.literal) from pg_catalog.unnest(cast($1 as pg_catalog.text[])) as literals(literal)))`,
  ],
];

for (const [operation, text] of converted) {
  Deno.test(`renderConditions() passes literals of a domain as ${text}`, () => {
    deepStrictEqual(where([filter("shade", operation)], paints)[0], ` where ${text}`);
  });
}

Deno.test("renderConditions() leaves paths into a domain's column unconverted", () => {
  const [text] = where([filter(place("shade", "->>", "a"), ["eq", "v"])], paints);
  deepStrictEqual(text, ` where pg_catalog.to_jsonb("t"."shade")->>$1 = $2`);
});

Deno.test("renderConditions() returns equal texts for equal shapes", () => {
  const text = (...values: readonly string[]) =>
    where([filter("id", inList(...values)), filter("name", ["eq", values[0]!])])[0];
  deepStrictEqual(text("1"), text("2", "3", "4'; drop table x"));
});

Deno.test("renderOrder() sorts by columns and paths into them", () => {
  const order = [
    by("name", { direction: "asc" }),
    by("id", { direction: "desc", nulls: "last" }),
    by("price", { nulls: "first" }),
    by(place("spec", "->", "a")),
    by(place("tags", "->", 0)),
  ];
  const { text, params } = compile(renderOrder(order, ident("api", "tools"), tools));
  deepStrictEqual(
    text,
    [
      `"api"."tools"."name" asc`,
      `"api"."tools"."id" desc nulls last`,
      `"api"."tools"."price" nulls first`,
      `"api"."tools"."spec"->$1`,
      `pg_catalog.to_jsonb("api"."tools"."tags")->cast($2 as integer)`,
    ].join(", "),
  );
  deepStrictEqual(params, ["a", "0"]);
});

Deno.test("renderConditions() joins the steps of a path in linear time", () => {
  const make = (count: number) => {
    const steps = Array.from({ length: count }, () => ["->", "a"]).flat();
    return filter(place("spec", ...steps), ["eq", "v"]);
  };
  const run = (condition: Filter) => where([condition]);
  assertLinearTime("renderConditions", { size: 20_000, make, run });
});
