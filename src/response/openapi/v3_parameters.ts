/** The parameters that operations of an OpenAPI 3.1 document refer to. @module */
import type { Column } from "../../schema_cache/schema_cache.ts";
import { descriptions } from "./about.ts";
import type { DescribedRelation } from "./model.ts";
import { componentKey, queryName, reference } from "./names.ts";
import { typeSchema } from "./v3_types.ts";

type V3ParameterEntry = readonly [key: string, parameter: unknown];

/** Parameters that do not depend on relations. A dot keeps their keys apart from relations' keys. */
export type SharedParameter = keyof ReturnType<typeof parametersOf>;

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

const always = [
  "numbers=string",
  "handling=strict",
  "handling=lenient",
  "timezone=<zone>",
] as const;
const counts = [
  "count=exact",
  "count=exact-<rows>",
  "count=planned",
  "count=estimated",
] as const;
const writes = [
  "return=minimal",
  "return=headers-only",
  "return=representation",
  "missing=default",
  "tx=commit",
  "tx=rollback",
] as const;
const limits = ["max-affected=<rows>"] as const;
const resolutions = [
  "resolution=merge-duplicates",
  "resolution=ignore-duplicates",
  "resolution=return-existing",
] as const;

function prefer(...preferences: readonly string[]) {
  return header("Prefer", `Preferences, separated by commas: \`${preferences.join("`, `")}\``);
}

/** The schema of the document. Requests without a profile use the default schema. */
export interface ProfileFacts {
  readonly schema: string;
  readonly isDefault: boolean;
}

/** The header with bookmarks. */
export interface BookmarkFacts {
  /** Null without standbys. */
  readonly bookmarkHeader: string | null;
}

/** Which headers operations may have. */
export interface HeaderContext extends BookmarkFacts {
  /** Whether requests can select a schema by a profile header. */
  readonly profiled: boolean;
}

export function readHeaders(context: HeaderContext): readonly SharedParameter[] {
  const profile = context.profiled ? ["readProfile"] as const : [];
  return [...profile, "ifNoneMatch", ...bookmarkHeaders(context)];
}

/** Returns the header of requests that a standby may execute. */
export function bookmarkHeaders(
  { bookmarkHeader }: BookmarkFacts,
): readonly SharedParameter[] {
  return bookmarkHeader === null ? [] : ["bookmark"];
}

const clauses = ["distinct", "having"] as const;
const cursorClauses = ["after", "before"] as const;

/** Clauses without those that have the name of a parameter. Cursors need a key of the rows. */
export function clausesOf(
  { names, hasKey }: { readonly names: readonly string[]; readonly hasKey: boolean },
): readonly SharedParameter[] {
  const taken = new Set(names);
  return [...clauses, ...(hasKey ? cursorClauses : [])].filter((name) => !taken.has(name));
}

export function writeHeaders({ profiled }: HeaderContext): readonly SharedParameter[] {
  return [...(profiled ? ["writeProfile"] as const : []), "idempotencyKey"];
}

/** Returns the headers of writes to rows that exist. */
export function changeHeaders(context: HeaderContext): readonly SharedParameter[] {
  return [...writeHeaders(context), "ifMatch"];
}

export function sharedParameters(
  facts: ProfileFacts & BookmarkFacts,
): readonly V3ParameterEntry[] {
  const present = Object.entries(parametersOf(facts)).filter(([, parameter]) => parameter !== null);
  return present.map(([name, parameter]) => [`shared.${name}`, parameter]);
}

function parametersOf({ schema, isDefault, bookmarkHeader }: ProfileFacts & BookmarkFacts) {
  const places = bookmarkHeader === null ? [] : ["read=primary"];
  const profile = (name: string) => ({
    ...header(name, "Schema that the request is about", { const: schema }),
    required: !isDefault,
  });
  return {
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
    preferRead: prefer(...counts, "max-rows=fail", ...places, ...always),
    preferWrite: prefer(...writes, ...counts, ...limits, ...always),
    preferUpdate: prefer(...writes, ...counts, ...limits, "unmatched=fail", ...always),
    preferInsert: prefer(...writes, ...resolutions, ...counts, ...always),
    preferCall: prefer(...counts, "max-rows=fail", ...limits, ...places, ...always),
    readProfile: profile("Accept-Profile"),
    writeProfile: profile("Content-Profile"),
    idempotencyKey: header("Idempotency-Key", descriptions.key, { type: "string", maxLength: 255 }),
    ifMatch: header("If-Match", descriptions.ifMatch),
    ifNoneMatch: header("If-None-Match", descriptions.ifNoneMatch),
    bookmark: bookmarkHeader === null ? null : header(bookmarkHeader, descriptions.bookmark),
  };
}

/** Returns a filter for each column that requests can filter by. */
export function filterParameters(
  { relation, columns }: DescribedRelation,
): readonly V3ParameterEntry[] {
  return columns.flatMap(({ column }): V3ParameterEntry[] => {
    const name = queryName(column.name);
    if (name === null) return [];
    const how = filterForm(column);
    const description = column.comment === null ? how : `${column.comment}\n\n${how}`;
    const parameter = { ...query(name, description), example: filterExample(column) };
    return [[filterKey(relation.name, column.name), parameter]];
  });
}

/** Returns how to write a filter of a column, with the type or the labels of its values. */
function filterForm({ baseType, enumLabels }: Column): string {
  if (enumLabels.length === 0) return `\`<operator>.<${baseType}>\``;
  return `\`<operator>.<value>\` with a value of \`${enumLabels.join("`, `")}\``;
}

export function filterExample({ baseType, enumLabels: [label] }: Column): string {
  if (label !== undefined) return `eq.${label}`;
  const { type, format } = typeSchema(baseType);
  if (type === "string" && typeof format === "string") {
    return formatExamples.get(format) ?? "not.is.null";
  }
  return typeExamples.get(String(type)) ?? "not.is.null";
}

const typeExamples: ReadonlyMap<string, string> = new Map([
  ["integer", "eq.5"],
  ["number", "gte.1.5"],
  ["boolean", "is.true"],
  ["string", "ilike.*text*"],
]);

const formatExamples: ReadonlyMap<string, string> = new Map([
  ["date", "gte.2030-01-01"],
  ["date-time", "gte.2030-01-01T00:00:00Z"],
  ["uuid", "eq.00000000-0000-0000-0000-000000000000"],
]);

export function filterReferences({ relation, columns }: DescribedRelation): readonly unknown[] {
  return columns
    .filter(({ column }) => queryName(column.name) !== null)
    .map(({ column }) => filterReference(relation.name, column.name));
}

export function filterReference(relation: string, column: string) {
  return reference("components", "parameters", filterKey(relation, column));
}

/** Returns the key of a filter. Dots separate its parts, since `componentKey` escapes other dots. */
function filterKey(relation: string, column: string): string {
  return `filter.${componentKey(relation)}.by.${componentKey(column)}`;
}
