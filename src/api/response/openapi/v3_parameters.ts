/** The parameters to which operations of an OpenAPI 3.1 document refer. @module */
import { queryName } from "../../request/url/filter_param.ts";
import type { Column } from "../../../state/schema_cache/schema_cache.ts";
import { descriptions } from "./about.ts";
import type { DescribedRelation } from "./model.ts";
import { componentKey, reference } from "./names.ts";
import { typeSchema } from "./v3_schemas.ts";

type V3ParameterEntry = readonly [key: string, parameter: unknown];

/** Parameters that do not depend on relations. Their keys contain a dot, so they differ from keys
 * of relations. */
export type SharedParameter = keyof typeof parameters;

export function shared(name: SharedParameter) {
  return reference("components", "parameters", `shared.${name}`);
}

const text = { type: "string" } as const;
const count = { type: "integer", minimum: 0 } as const;

function query(name: string, description: string, schema: unknown = text) {
  return { name, in: "query", description, schema };
}

function header(name: string, description: string, schema: unknown = text) {
  return { name, in: "header", description, schema };
}

const always = ["handling=strict", "handling=lenient", "timezone=<zone>"];
const counts = ["count=exact", "count=exact-<rows>", "count=planned", "count=estimated"];
const writes = [
  "return=minimal",
  "return=headers-only",
  "return=representation",
  "missing=default",
  "tx=commit",
  "tx=rollback",
];
const resolutions = [
  "resolution=merge-duplicates",
  "resolution=ignore-duplicates",
  "resolution=return-existing",
];
const limits = ["max-affected=<rows>"];

function prefer(...preferences: readonly string[]) {
  return header("Prefer", `Preferences, separated by commas: \`${preferences.join("`, `")}\``);
}

export interface SharedInput {
  /** The schema of the document. Requests without a profile header use the default schema. */
  readonly schema: string;
  readonly isDefault: boolean;
  /** Null without standbys. */
  readonly bookmarkHeader: string | null;
}

export function* sharedParameters(input: SharedInput): Generator<V3ParameterEntry> {
  for (const [name, parameter] of Object.entries(parameters)) {
    const made = typeof parameter === "function" ? parameter(input) : parameter;
    if (made !== null) yield [`shared.${name}`, made];
  }
}

function placesOf({ bookmarkHeader }: SharedInput): readonly string[] {
  return bookmarkHeader === null ? [] : ["read=primary"];
}

function profile(name: string) {
  return ({ schema, isDefault }: SharedInput) => ({
    ...header(name, "Schema that the request is about", { const: schema }),
    required: !isDefault,
  });
}

const parameters = {
  select: query("select", "Columns and embedded relations; `*,-<column>` leaves one out"),
  selectWritten: query(
    "select",
    "Columns and embedded relations, separated by commas. `merge_action()` is `INSERT`, `UPDATE` or `EXISTING`",
  ),
  columnsInserted: query(
    "columns",
    "Columns of the body that are written, separated by commas. `<relation>(<columns>)` writes rows of " +
      "related relations inside of the objects",
  ),
  columns: query("columns", "Columns of the body that are written, separated by commas"),
  on_conflict: query("on_conflict", "Columns by which duplicates are found"),
  "on_conflict.index": query("on_conflict.index", "Unique index by which duplicates are found"),
  "on_conflict.columns": query("on_conflict.columns", "Columns to update in rows that exist"),
  "on_conflict.where": query(
    "on_conflict.where",
    "Conditions of that update: `(<column>.<operator>(excluded).<column>,…)`",
  ),
  on: query("on", "Columns that match rows of the body with rows of the relation"),
  order: query("order", "Terms `<column>.<asc|desc>.<nullsfirst|nullslast>`"),
  limit: { ...query("limit", "Largest number of rows", count), example: 20 },
  lock: query(
    "lock",
    "With `limit`: rows that another transaction has locked are skipped, or fail the request",
    { type: "string", enum: ["skip", "nowait"] },
  ),
  offset: query("offset", "Number of rows that are skipped", count),
  and: query("and", "Conditions that all hold: `(<column>.<operator>.<value>,…)`"),
  or: query("or", "Conditions one of which holds: `(<column>.<operator>.<value>,…)`"),
  distinct: query("distinct", "Columns of which equal rows appear once; `*` for whole rows"),
  having: query("having", "Conditions on groups: `(<key>.<operator>.<value>,…)`"),
  after: query("after", "Cursor of the row that the rows follow; empty for the first page"),
  before: query("before", "Cursor of the row that the rows precede; empty for the last page"),
  range: header("Range", "First and last row, counted from 0: `0-24`"),
  rangeUnit: header("Range-Unit", "Unit of `Range`", { type: "string", const: "items" }),
  preferRead: (input: SharedInput) =>
    prefer(...counts, "max-rows=fail", ...placesOf(input), ...always),
  preferWrite: prefer(...writes, ...counts, ...limits, ...always),
  preferUpdate: prefer(...writes, ...counts, ...limits, "unmatched=fail", ...always),
  preferInsert: prefer(...writes, ...resolutions, ...counts, ...always),
  preferCall: (input: SharedInput) =>
    prefer(...counts, "max-rows=fail", ...limits, ...placesOf(input), ...always),
  readProfile: profile("Accept-Profile"),
  writeProfile: profile("Content-Profile"),
  idempotencyKey: header("Idempotency-Key", descriptions.idempotencyKey, {
    type: "string",
    maxLength: 255,
  }),
  ifMatch: header("If-Match", descriptions.ifMatch),
  ifNoneMatch: header("If-None-Match", descriptions.ifNoneMatch),
  bookmark: ({ bookmarkHeader }: SharedInput) =>
    bookmarkHeader === null ? null : header(bookmarkHeader, descriptions.bookmark),
};

/** Returns a filter for each column, with the format of its values. */
export function* filterParameters(
  { relation, columns }: DescribedRelation,
): Generator<V3ParameterEntry> {
  for (const { column: { name: column, comment, baseType, enumLabels } } of columns) {
    const form = enumLabels.length === 0
      ? `\`<operator>.<${baseType}>\``
      : `\`<operator>.<value>\` with a value of \`${enumLabels.join("`, `")}\``;
    const description = comment === null ? form : `${comment}\n\n${form}`;
    const example = filterExample({ baseType, enumLabels });
    yield [filterKey(relation.name, column), { ...query(queryName(column), description), example }];
  }
}

export function filterExample(
  { baseType, enumLabels: [label] }: Pick<Column, "baseType" | "enumLabels">,
): string {
  if (label !== undefined) return `eq.${label}`;
  const { type, format } = typeSchema(baseType);
  const isPlainText = type === "string" && format === undefined;
  return examples.get(String(isPlainText || type !== "string" ? type : format)) ?? "not.is.null";
}

/** Example filters by type of the values, or by format of a text. */
const examples: ReadonlyMap<string, string> = new Map([
  ["integer", "eq.5"],
  ["number", "gte.1.5"],
  ["boolean", "is.true"],
  ["string", "ilike.*text*"],
  ["date", "gte.2030-01-01"],
  ["date-time", "gte.2030-01-01T00:00:00Z"],
  ["uuid", "eq.00000000-0000-0000-0000-000000000000"],
]);

export function filterReferences(relation: string, columns: readonly string[]) {
  return columns.map((column) =>
    reference("components", "parameters", filterKey(relation, column))
  );
}

/** Returns the key of a filter. Its parts are separated by dots; `componentKey` escapes other dots. */
function filterKey(relation: string, column: string): string {
  return `filter.${componentKey(relation)}.by.${componentKey(column)}`;
}
