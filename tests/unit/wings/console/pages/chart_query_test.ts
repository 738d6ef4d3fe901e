import { deepStrictEqual, strictEqual } from "node:assert/strict";
import type {
  ConsoleColumn,
  ConsoleRelation,
} from "../../../../../src/wings/console/server/console_schema.ts";
import {
  type ChartChoice,
  chartQuery,
  choiceOf,
  firstChoice,
  groupColumns,
  measuredColumns,
} from "../../../../../src/wings/console/pages/chart_query.ts";
import {
  emptyTableQuery,
  formatQuery,
  parseQuery,
} from "../../../../../src/wings/console/pages/filters.ts";

const column = (
  name: string,
  baseType: string,
  enumLabels: readonly string[] = [],
): ConsoleColumn => ({
  ...{ name, baseType, type: baseType, comment: null, nullable: true, default: null },
  ...{ generated: false, enumLabels, maxLength: null },
});

const relation: ConsoleRelation = {
  ...{ schema: "api", name: "sale", comment: null, isView: false, label: null },
  ...{ insertable: true, updatable: true, deletable: true, primaryKey: ["id"] },
  columns: [
    column("id", "integer"),
    column("product_id", "integer"),
    column("kind", "api.kind", ["a", "b"]),
    column("price", "numeric"),
    column("sold", "timestamp with time zone"),
    column("day", "date"),
    column("about", "jsonb"),
  ],
};
const references = new Set(["product_id"]);

Deno.test("groupColumns() and measuredColumns() leave out keys", () => {
  const names = (columns: readonly ConsoleColumn[]) => columns.map(({ name }) => name);
  deepStrictEqual(names(groupColumns(relation)), ["product_id", "kind", "price", "sold", "day"]);
  deepStrictEqual(names(measuredColumns(relation, references)), ["price"]);
});

Deno.test("firstChoice() prefers an enum, a time, then a reference; null without a column", () => {
  strictEqual(firstChoice(relation, references)!.by, "kind");
  const others = relation.columns.filter(({ name }) => name !== "kind");
  strictEqual(firstChoice({ ...relation, columns: others }, references)!.by, "sold");
  const timeless = others.filter(({ baseType }) => !/^(?:date|time)/.test(baseType));
  strictEqual(firstChoice({ ...relation, columns: timeless }, references)!.by, "product_id");
  strictEqual(firstChoice({ ...relation, columns: [column("id", "integer")] }, references), null);
});

const queries: readonly (readonly [choice: ChartChoice, query: string])[] = [
  [
    { by: "kind", period: null, measure: "count", of: "" },
    "select=kind,count()&order=count.desc&limit=40",
  ],
  [
    { by: "product_id", period: null, measure: "sum", of: "price" },
    "select=product_id,price.sum()&order=sum.desc&limit=40",
  ],
  [
    { by: "sold", period: "month", measure: "avg", of: "price" },
    "select=month:sold.date_trunc(month),price.avg()&order=month.asc&limit=1000",
  ],
  [
    { by: "day", period: "day", measure: "count", of: "" },
    "select=day_:day.date_trunc(day)::date,count()&order=day_.asc&limit=1000",
  ],
];
for (const [choice, text] of queries) {
  Deno.test(`chartQuery() writes ${text}, and choiceOf() reads it`, () => {
    const query = chartQuery(choice, relation, emptyTableQuery);
    strictEqual(formatQuery(query), text);
    deepStrictEqual(choiceOf(parseQuery(text), relation), choice);
  });
}

Deno.test("choiceOf() is null for other queries", () => {
  for (const text of ["", "select=kind,price", "select=kind,count(),id", "select=id,count()"]) {
    strictEqual(choiceOf(parseQuery(text), relation), null, text);
  }
});
