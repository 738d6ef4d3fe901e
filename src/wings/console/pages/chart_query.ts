/** The query of a chart: an aggregate by column, or by period of time. @module */
import { queryName } from "../../../api/request/url/filter_param.ts";
import type { ConsoleColumn, ConsoleRelation } from "../server/console_schema.ts";
import { emptyTableQuery, type TableQuery, typeKind } from "./filters.ts";

/** Periods into which a time column is divided. */
export const periods = ["day", "week", "month", "year"] as const;

/** Aggregate functions of a chart; `count` counts rows. */
export const measures = ["count", "sum", "avg", "min", "max"] as const;

export interface ChartChoice {
  /** Column by which rows are grouped. */
  readonly by: string;
  /** Null to group by the values themselves. */
  readonly period: typeof periods[number] | null;
  readonly measure: typeof measures[number];
  /** Measured column; empty for `count`. */
  readonly of: string;
}

/** Returns the maximum number of groups in a chart. A group is a value or a period. */
export function maxGroups({ period }: ChartChoice): number {
  return period === null ? 40 : 1000;
}

/** Returns the columns by which rows can be grouped. */
export function groupColumns({ columns, primaryKey }: ConsoleRelation): readonly ConsoleColumn[] {
  const isKey = (name: string) => primaryKey.length === 1 && primaryKey[0] === name;
  return columns.filter(({ name, baseType }) =>
    !isKey(name) && !/^(?:json|array|binary|search)$/.test(typeKind(baseType)) &&
    baseType !== "interval"
  );
}

/** Returns the columns that can be measured: numbers that are neither keys nor among `references`. */
export function measuredColumns(
  { columns, primaryKey }: ConsoleRelation,
  references: ReadonlySet<string>,
): readonly ConsoleColumn[] {
  return columns.filter(({ name, baseType }) =>
    typeKind(baseType) === "number" && baseType !== "oid" && !primaryKey.includes(name) &&
    !references.has(name)
  );
}

/** Returns the choice from which a query was built; null for other queries. */
export function choiceOf({ select }: TableQuery, relation: ConsoleRelation): ChartChoice | null {
  if (select?.length !== 2) return null;
  for (const { name } of groupColumns(relation)) {
    for (const period of [null, ...periods]) {
      for (const measure of measures) {
        const of = measure === "count" ? [""] : relation.columns.map((column) => column.name);
        const choice = of.map((each): ChartChoice => ({ by: name, period, measure, of: each }))
          .find((each) => itemsOf(each, relation).join() === select.join());
        if (choice !== undefined) return choice;
      }
    }
  }
  return null;
}

/** Returns the initial choice for a chart of a relation; null if no column can form groups. */
export function firstChoice(
  relation: ConsoleRelation,
  references: ReadonlySet<string>,
): ChartChoice | null {
  const columns = groupColumns(relation);
  const column = columns.find(({ enumLabels }) => enumLabels.length > 0) ??
    columns.find(({ baseType }) => typeKind(baseType) === "time") ??
    columns.find(({ baseType }) => typeKind(baseType) === "boolean") ??
    columns.find(({ name }) => references.has(name)) ?? columns[0];
  return column === undefined ? null : withColumn(
    { by: column.name, period: null, measure: "count", of: "" },
    column,
  );
}

/** Returns the choice with another column. Times are grouped by month. */
export function withColumn(choice: ChartChoice, { name, baseType }: ConsoleColumn): ChartChoice {
  return { ...choice, by: name, period: typeKind(baseType) === "time" ? "month" : null };
}

/** Returns the keys of a chart's rows. A key gets an underscore if a column has the same name. */
export function chartKeys(
  { by, period, measure }: ChartChoice,
  { columns }: ConsoleRelation,
): { readonly group: string; readonly measure: string } {
  const free = (name: string) => columns.some((each) => each.name === name) ? `${name}_` : name;
  return { group: period === null ? by : free(period), measure: free(measure) };
}

function itemsOf(choice: ChartChoice, relation: ConsoleRelation): readonly string[] {
  const { by, period, measure, of } = choice;
  const keys = chartKeys(choice, relation);
  const isDate = relation.columns.find(({ name }) => name === by)?.baseType === "date";
  return [
    period === null
      ? queryName(by)
      : `${keys.group}:${queryName(by)}.date_trunc(${period})${isDate ? "::date" : ""}`,
    (keys.measure === measure ? "" : `${keys.measure}:`) +
    (measure === "count" ? "count()" : `${queryName(of)}.${measure}()`),
  ];
}

/** Returns the query of a choice. Periods are in order of time, other groups by their measure, highest first. */
export function chartQuery(
  choice: ChartChoice,
  relation: ConsoleRelation,
  { filters, others }: Pick<TableQuery, "filters" | "others">,
): TableQuery {
  const keys = chartKeys(choice, relation);
  return {
    ...emptyTableQuery,
    filters,
    others,
    select: itemsOf(choice, relation),
    order: choice.period === null
      ? [{ column: keys.measure, descending: true }]
      : [{ column: keys.group, descending: false }],
    limit: maxGroups(choice),
  };
}
