import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { renderCount } from "../../../src/query/count.ts";
import { renderRows } from "../../../src/query/read.ts";
import { pgrstDialect } from "../../../src/dialect.ts";
import type {
  LogicTree,
  QueryParams,
  RowBounds,
  SelectItem,
} from "../../../src/request/query_types.ts";
import { compile, sql } from "../../../src/sql/fragment.ts";
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
  group,
  isNotNull,
  isNull,
  place,
  planOf,
  spread,
} from "../../support/reading.ts";

const everything: RowBounds = { first: 0n, last: null };
const page: RowBounds = { first: 20n, last: 29n };

/** A row: the request, its row range, the statement. Parameters are shown in place. */
type Row = readonly [
  name: string,
  relation: string,
  parts: Partial<QueryParams>,
  bounds: RowBounds,
  text: string,
];

function shown({ text, params }: ReturnType<typeof compile>): string {
  return text.replaceAll(/\$(\d+)/g, (_, number) => `<${params[number - 1]}>`)
    .replaceAll(/"api"\./g, "").replaceAll('"', "");
}

const makerName = embed("makers", [column("name")]);

const rows: readonly Row[] = [
  ["all columns", "tools", {}, everything, "select tools.* from tools"],
  [
    "columns, filters, order and bounds in one SELECT",
    "tools",
    {
      select: [column("name"), column("price", { alias: "p", cast: "text" })],
      filters: [at("", filter("id", ["gt", "3"]))],
      order: [at("", [by("name", { direction: "desc" })])],
    },
    page,
    "select tools.name as name, cast(tools.price as text) as p from tools where tools.id > <3> " +
    "order by tools.name desc limit 10 offset <20>",
  ],
  [
    "places under their last key",
    "tools",
    {
      select: [
        column(place("spec", "->", "w", "->>", "kg"), { cast: "int" }),
        column(place("spec", "->", "colors", "->", 0)),
        column(place("tags", "->>", 0)),
        column(place("spec", "->", "")),
      ],
    },
    everything,
    "select cast(tools.spec-><w>->><kg> as int) as kg, " +
    "tools.spec-><colors>->cast(<0> as integer) as colors, " +
    "pg_catalog.to_jsonb(tools.tags)->>cast(<0> as integer) as tags, tools.spec-><> as spec from tools",
  ],
  [
    "a to-one embed of all rows without a page",
    "tools",
    { select: [column("name"), makerName] },
    everything,
    "select tools.name as name, (select pg_catalog.row_to_json(makers_1.*) as object from (select makers_1.name " +
    "as name from makers as makers_1 where makers_1.id = tools.maker_id) as makers_1 limit 1) as " +
    "makers from tools",
  ],
  [
    "a page before its embeds, with the order repeated outside",
    "tools",
    {
      select: [column("name"), makerName],
      filters: [at("", filter("price", ["gt", "1"]))],
      order: [at("", [by("price", { nulls: "last" }), by("name")])],
    },
    page,
    "select tools.c2 as name, (select pg_catalog.row_to_json(makers_1.*) as object from (select makers_1.name as " +
    "name from makers as makers_1 where makers_1.id = tools.c1) as makers_1 limit 1) as makers " +
    "from (select tools.maker_id as c1, tools.name as c2, tools.price as c3 from tools where " +
    "tools.price > <1> order by c3 nulls last, c2 limit 10 offset <20>) as tools " +
    "order by tools.c3 nulls last, tools.c2",
  ],
  [
    "all columns of a page one by one",
    "makers",
    { select: [all, embed("tools", [all])] },
    page,
    "select makers.c1 as id, makers.c2 as name, makers.c3 as city, coalesce((select " +
    "pg_catalog.json_agg(tools_1.*) as array_of_rows from (select tools_1.* from tools as tools_1 where " +
    "tools_1.maker_id = makers.c1) as tools_1), '[]') as tools from (select makers.id as c1, " +
    "makers.name as c2, makers.city as c3 from makers limit 10 offset <20>) as makers",
  ],
  [
    "filters, order and bounds of an embed inside it",
    "makers",
    {
      select: [column("name"), embed("tools", [column("name")])],
      filters: [at("tools", filter("price", ["gt", "1"]))],
      order: [at("tools", [by("id")])],
      limits: [at("tools", { limit: 3n, offset: 1n })],
    },
    everything,
    "select makers.name as name, coalesce((select pg_catalog.json_agg(tools_1.*) as array_of_rows from " +
    "(select tools_1.name as name from tools as tools_1 where tools_1.maker_id = makers.id " +
    "and tools_1.price > <1> order by tools_1.id limit 3 offset <1>) as tools_1), '[]') as " +
    "tools from makers",
  ],
  [
    "a junction's two keys",
    "tools",
    { select: [embed("sheds", [column("title")])] },
    everything,
    "select coalesce((select pg_catalog.json_agg(sheds_1.*) as array_of_rows from (select sheds_1.title " +
    "as title from sheds as sheds_1 join tool_sheds as tool_sheds_2 on tool_sheds_2.shed_id = " +
    "sheds_1.id where tool_sheds_2.tool_id = tools.id) as sheds_1), '[]') as sheds from tools",
  ],
  [
    "a function of the row, whose rows may repeat the parent's",
    "makers",
    { select: [column("name"), embed("latest", [column("name")])], order: [at("", [by("id")])] },
    { first: 0n, last: 4n },
    "select makers.c2 as name, tools_1.object as latest from (select cast(makers.* as makers) as " +
    "c1, makers.name as c2, makers.id as c3 from makers order by c3 limit 5) as makers left join " +
    "lateral (select pg_catalog.row_to_json(tools_1.*) as object from (select tools_1.name as name from latest(" +
    "makers.c1) as tools_1) as tools_1) as tools_1 on true order by makers.c3 limit 5",
  ],
  [
    "no columns of empty embeds",
    "makers",
    { select: [column("name"), embed("tools", [embed("manuals")])] },
    page,
    "select makers.name as name from makers limit 10 offset <20>",
  ],
  [
    "inner embeds as tests in the page",
    "makers",
    {
      select: [
        column("name"),
        embed("tools", [embed("manuals", [], { join: "inner" })], {
          join: "inner",
        }),
      ],
      filters: [at("tools", filter("price", ["gt", "1"]))],
    },
    page,
    "select makers.name as name from makers where exists (select 1 from tools as tools_1 where " +
    "tools_1.maker_id = makers.id and tools_1.price > <1> and exists (select 1 from manuals as " +
    "manuals_2 where manuals_2.tool_id = tools_1.id)) limit 10 offset <20>",
  ],
  [
    "null tests of embeds, in groups too",
    "tools",
    {
      select: [column("name"), embed("makers"), embed("sheds", [], { alias: "s" })],
      filters: [at("", isNotNull("makers"))],
      logic: [at("", group("or", [isNull("s"), isNull("price")]))],
    },
    everything,
    "select tools.name as name from tools where (not (exists (select 1 from sheds as sheds_2 join " +
    "tool_sheds as tool_sheds_3 on tool_sheds_3.shed_id = sheds_2.id where tool_sheds_3.tool_id = " +
    "tools.id)) or tools.price is null) and exists (select 1 from makers as makers_1 where " +
    "makers_1.id = tools.maker_id)",
  ],
  [
    "a requested row range in the EXISTS test",
    "makers",
    {
      select: [embed("tools", [], { join: "inner" })],
      limits: [at("tools", { limit: null, offset: 1n })],
    },
    everything,
    "select  from makers where exists (select 1 from tools as tools_1 where tools_1.maker_id = " +
    "makers.id offset <1>)",
  ],
  [
    "a repeated EXISTS test once",
    "makers",
    {
      select: [column("name"), embed("tools")],
      logic: [
        at("", group("or", [isNull("tools"), isNull("name")])),
        at("", group("or", [isNotNull("tools"), isNull("city")])),
      ],
    },
    everything,
    "select makers.name as name from makers cross join lateral (select exists (select 1 from tools " +
    "as tools_1 where tools_1.maker_id = makers.id) as present offset 0) as makers_2 where (not (" +
    "makers_2.present) or makers.name is null) and (makers_2.present or makers.city is null)",
  ],
  [
    "a spread's columns in the parent",
    "tools",
    { select: [column("name"), spread("makers", [column("name", { alias: "maker" }), all])] },
    everything,
    "select tools.name as name, makers_1.s1 as maker, makers_1.s2 as id, makers_1.s3 as name, " +
    "makers_1.s4 as city from tools left join lateral (select makers_1.name as s1, " +
    "makers_1.id as s2, makers_1.name as s3, makers_1.city as s4, true as present from makers " +
    "as makers_1 where makers_1.id = tools.maker_id) as makers_1 on true",
  ],
  [
    "a related order by the embed's output",
    "tools",
    {
      select: [column("name"), embed("makers", [column("name", { alias: "n" }), column("city")])],
      order: [at("", [by("n", { relation: "makers", direction: "desc" }), by("id")])],
    },
    { first: 0n, last: 4n },
    "select tools.c2 as name, (select pg_catalog.row_to_json(makers_1.*) as object from (select makers_1.name as " +
    "n, makers_1.city as city from makers as makers_1 where makers_1.id = tools.c1) as makers_1 " +
    "limit 1) as makers from (select tools.maker_id as c1, tools.name as c2, makers_2.n as c3, " +
    "tools.id as c4 from tools left join lateral (select makers_1.name as n from makers as " +
    "makers_1 where makers_1.id = tools.maker_id) as makers_2 on true order by c3 desc, c4 " +
    "limit 5) as tools order by tools.c3 desc, tools.c4",
  ],
  [
    "a related order by a place, and by what is not selected",
    "tools",
    {
      select: [column("name"), embed("manuals", [column("pages")])],
      order: [at("", [
        by(place("pages", "->", "a"), { relation: "manuals" }),
        by("nope", { relation: "manuals" }),
      ])],
    },
    everything,
    "select tools.c2 as name, (select pg_catalog.row_to_json(manuals_1.*) as object from (select manuals_1.pages " +
    "as pages from manuals as manuals_1 where manuals_1.tool_id = tools.c1) as manuals_1 limit 1) " +
    "as manuals from (select tools.id as c1, tools.name as c2, pg_catalog.to_jsonb(manuals_2.pages)-><a> as " +
    "c3, (select manuals_1.nope from manuals as manuals_1 where manuals_1.tool_id = tools.id limit 1) " +
    "as c4 from tools left join lateral (select manuals_1.pages as pages from " +
    "manuals as manuals_1 where manuals_1.tool_id = tools.id) as manuals_2 on true order by c3, c4)" +
    " as tools order by tools.c3, tools.c4",
  ],
  [
    "a related order through a function by one row",
    "makers",
    {
      select: [column("name"), embed("latest", [column("name")])],
      order: [at("", [by("name", { relation: "latest" })])],
    },
    everything,
    "select makers.c2 as name, tools_1.object as latest from (select cast(makers.* as makers) as " +
    "c1, makers.name as c2, tools_2.name as c3 from makers left join lateral (select tools_1.name " +
    "as name from latest(cast(makers.* as makers)) as tools_1 limit 1) as tools_2 on true order " +
    "by c3) as makers left join lateral (select pg_catalog.row_to_json(tools_1.*) as object from (select " +
    "tools_1.name as name from latest(makers.c1) as tools_1) as tools_1) as tools_1 on true " +
    "order by makers.c3",
  ],
  [
    "groups of everything that is not aggregated",
    "tools",
    {
      select: [
        column("price", { aggregate: "sum", cast: "int", aggregateCast: "text" }),
        count,
        column("maker_id", { cast: "text" }),
        column("name", { alias: "n" }),
        column(place("spec", "->", "w")),
        makerName,
      ],
      order: [at("", [by("maker_id"), by(place("spec", "->", "w"))])],
    },
    page,
    "select cast(sum(cast(tools.price as int)) as text) as sum, count(true) as count, " +
    "cast(tools.maker_id as text) as maker_id, tools.name as n, tools.spec-><w> as w, " +
    "(select pg_catalog.to_jsonb(makers_1.*) as object from (select makers_1.name as name from makers as " +
    "makers_1 where makers_1.id = tools.maker_id) as makers_1 limit 1) as makers from tools " +
    "group by tools.maker_id, 4, 5, 6 order by tools.maker_id, tools.spec-><w> " +
    "limit 10 offset <20>",
  ],
  [
    "all columns beside an aggregate",
    "makers",
    { select: [all, count] },
    everything,
    "select makers.id as id, makers.name as name, makers.city as city, count(true) as count from " +
    "makers group by makers.id, makers.name, makers.city",
  ],
  [
    "only aggregates without groups",
    "tools",
    { select: [column("price", { aggregate: "max" })] },
    everything,
    "select max(tools.price) as max from tools",
  ],
  [
    "aggregates of a spread in the node that it is spread into",
    "tools",
    {
      select: [
        column("bought"),
        spread("makers", [
          column("name"),
          column("id", { aggregate: "max", cast: "int", alias: "top" }),
          count,
        ]),
      ],
      order: [at("", [by("name", { relation: "makers" })])],
    },
    everything,
    "select tools.bought as bought, makers_1.s1 as name, max(makers_1.s2) as top, " +
    "count(makers_1.s3) as count from tools left join lateral (select makers_1.name as s1, " +
    "cast(makers_1.id as int) as s2, true as s3, true as present from makers as makers_1 " +
    "where makers_1.id = tools.maker_id) as makers_1 on true group by tools.bought, 2 order " +
    "by makers_1.s1",
  ],
  [
    "representations of domains, which expand all columns",
    "paints",
    {
      select: [
        all,
        column("shade", { cast: "text", alias: "s" }),
        column(place("shade", "->", "a")),
      ],
    },
    everything,
    "select paints.id as id, json(paints.shade) as shade, paints.maker_id as maker_id, " +
    "cast(json(paints.shade) as text) as s, pg_catalog.to_jsonb(paints.shade)-><a> as a from paints",
  ],
  [
    "aggregates and related orders of what is behind a representation",
    "makers",
    { select: [embed("paints", [column("shade", { aggregate: "max" })])] },
    everything,
    "select coalesce((select pg_catalog.json_agg(paints_1.*) as array_of_rows from (select " +
    "max(paints_1.shade) as max from paints as paints_1 where paints_1.maker_id = makers.id) " +
    "as paints_1), '[]') as paints from makers",
  ],
];

for (const [name, relation, parts, bounds, text] of rows) {
  Deno.test(`renderRows() reads ${name}`, () => {
    strictEqual(shown(compile(renderRows(planOf(relation, parts, { bounds })))), text);
  });
}

const counts: readonly [
  name: string,
  relation: string,
  parts: Partial<QueryParams>,
  text: string,
][] = [
  [
    "without order, bounds and embeds",
    "tools",
    {
      select: [column("name"), makerName],
      filters: [at("", filter("id", ["gt", "3"])), at("makers", filter("id", ["gt", "4"]))],
      order: [at("", [by("name", { relation: "makers" })])],
    },
    "select 1 from tools where tools.id > <3>",
  ],
  [
    "with inner embeds, whatever their bounds",
    "makers",
    {
      select: [embed("tools", [embed("manuals", [], { join: "inner" })], { join: "inner" })],
      limits: [at("tools", { limit: null, offset: 1n })],
    },
    "select 1 from makers where exists (select 1 from tools as tools_1 where tools_1.maker_id = " +
    "makers.id and exists (select 1 from manuals as manuals_2 where manuals_2.tool_id = " +
    "tools_1.id))",
  ],
  [
    "without inner embeds below left ones",
    "makers",
    { select: [embed("tools", [embed("manuals", [], { join: "inner" })])] },
    "select 1 from makers",
  ],
  [
    "with null tests",
    "makers",
    { select: [embed("tools", [column("name")])], filters: [at("", isNull("tools"))] },
    "select 1 from makers where not (exists (select 1 from tools as tools_1 where " +
    "tools_1.maker_id = makers.id))",
  ],
];

for (const [name, relation, parts, text] of counts) {
  Deno.test(`renderCount() counts ${name}`, () => {
    const plan = planOf(relation, parts, { bounds: page });
    strictEqual(shown(compile(renderCount(plan))), text);
  });
}

Deno.test("renderRows() reads supplied rows under the plan's alias", () => {
  const relation = cache.relation(api("makers"))!;
  const plan = planOf("makers", {
    select: [all, column("shout"), embed("latest", [column("name")])],
    filters: [at("", filter("shout", ["eq", "X"]))],
  }, {
    source: { kind: "rows", alias: "makers", relation, origin: relation },
    purpose: "result",
  });
  const from = sql`made(${sql`1`}) as "makers"`;
  const row = "cast(row(makers.id, makers.name, makers.city) as makers)";
  strictEqual(
    shown(compile(renderRows(plan, from))),
    `select makers.*, (${row}).shout as shout, tools_1.object as latest from made(1) as makers ` +
      "left join lateral (select pg_catalog.row_to_json(tools_1.*) as object from (select tools_1.name as name " +
      `from latest(${row}) as tools_1) as tools_1) as tools_1 on true where (${row}).shout = <X>`,
  );
  strictEqual(
    shown(compile(renderCount(plan, from))),
    `select 1 from made(1) as makers where (${row}).shout = <X>`,
  );
});

Deno.test("renderRows() aggregates a to-many spread column by column", () => {
  const plan = planOf(
    "makers",
    {
      select: [column("name"), spread("tools", [column("name"), makerName], { join: "inner" })],
      order: [at("tools", [by("id")])],
    },
    {},
    { dialect: pgrstDialect },
  );
  strictEqual(
    shown(compile(renderRows(plan))),
    "select makers.name as name, coalesce(tools_1.s1, '[]') as name, " +
      "coalesce(tools_1.s2, '[]') as makers from makers left join lateral (" +
      "select pg_catalog.json_agg(tools_1.s1) as s1, pg_catalog.json_agg(tools_1.s2) as s2, " +
      "pg_catalog.bool_and(tools_1.present) as present from (select tools_1.c2 as s1, " +
      "(select pg_catalog.row_to_json(makers_2.*) as object from (select makers_2.name as name " +
      "from makers as makers_2 where makers_2.id = tools_1.c1) as makers_2 limit 1) as s2, " +
      "true as present from (select tools_1.maker_id as c1, tools_1.name as c2, tools_1.id as c3 " +
      "from tools as tools_1 where tools_1.maker_id = makers.id order by c3) as tools_1 " +
      "order by tools_1.c3) as tools_1) as tools_1 on true " +
      "where exists (select 1 from tools as tools_1 where tools_1.maker_id = makers.id)",
  );
});

Deno.test("renderRows() returns equal texts for equal shapes", () => {
  const text = (value: string, first: bigint) =>
    compile(renderRows(planOf("tools", {
      select: [column("name"), makerName],
      filters: [at("", filter("name", ["eq", value]))],
    }, { bounds: { first, last: first + 9n } }))).text;
  strictEqual(text("a", 10n), text("'; drop table tools; --", 4000n));
});

/** Length of the statement for nested embeds of people, each filtered by the next. */
function lengthAt(depth: number, tests: readonly LogicTree[]): number {
  let select: readonly SelectItem[] = [column("id")];
  for (let level = 0; level < depth; level++) {
    select = [column("id"), embed("people", select, { join: "inner" })];
  }
  const logic = tests.length === 0 ? [] : Array.from(
    { length: depth },
    (_, level) => at(Array<string>(level).fill("people").join("."), group("or", tests)),
  );
  return compile(renderRows(planOf("people", { select, logic }, { bounds: page }))).text.length;
}

Deno.test("renderRows() returns statements of linear length in the depth of embeds", () => {
  for (const tests of [[], [isNull("people"), isNotNull("people"), isNull("id")]]) {
    const [short, long] = [lengthAt(40, tests), lengthAt(80, tests)];
    deepStrictEqual(long < 2.2 * short, true, `${short} and ${long} characters`);
  }
});
