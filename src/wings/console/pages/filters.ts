/** Converts the query of a table page to and from the API's query string. @module */
import { queryName } from "../../../api/request/url/filter_param.ts";
import type { ConsoleColumn } from "../server/console_schema.ts";

/** A condition on a column, in the terms of the page. */
export interface ColumnFilter {
  readonly column: string;
  /** Path within json, such as `->>name`; empty for the column itself. */
  readonly path: string;
  readonly operator: FilterOperator;
  /** Empty for operators without a value. For `in`, values are separated by line breaks. */
  readonly value: string;
}

/** Operators of the page, and their labels. */
export const filterOperators = {
  eq: "is",
  neq: "is not",
  contains: "contains",
  starts: "starts with",
  in: "is one of",
  gt: ">",
  gte: "≥",
  lt: "<",
  lte: "≤",
  cs: "includes",
  fts: "matches text",
  null: "is null",
  notnull: "is not null",
  true: "is true",
  false: "is false",
} as const;

export type FilterOperator = keyof typeof filterOperators;

/** Operators without a value, and their text in the query. */
const fixedValues: ReadonlyMap<FilterOperator, string> = new Map([
  ["null", "is.null"],
  ["notnull", "not.is.null"],
  ["true", "is.true"],
  ["false", "is.false"],
]);

/** Operators whose word is the same in the API and is followed by the unchanged value. */
const plainOperators = ["eq", "neq", "gt", "gte", "lt", "lte", "cs", "fts"] as const;

export function takesValue(operator: FilterOperator): boolean {
  return !fixedValues.has(operator);
}

/** Returns whether a filter can be sent. Only text columns may have the empty text as value. */
export function isComplete(
  { operator, path, value }: ColumnFilter,
  { baseType, enumLabels }: FilteredColumn,
): boolean {
  if (value !== "" || !takesValue(operator)) return true;
  const isText = path !== "" || (typeKind(baseType) === "text" && enumLabels.length === 0);
  return isText && plainOperators.some((word) => word === operator);
}

/** Properties of a column on which its filters depend. */
export type FilteredColumn = Pick<ConsoleColumn, "baseType" | "enumLabels">;

/** Operators by group of types, without `null` and `notnull`. The first one is the default of new
 * filters. For times, the default is `gte`, because `eq` with a date would mean midnight. */
const operatorsByKind = {
  text: ["contains", "starts", "eq", "neq", "in"],
  enum: ["eq", "neq", "in"],
  number: ["eq", "neq", "gt", "gte", "lt", "lte", "in"],
  time: ["gte", "gt", "lte", "lt", "eq", "neq", "in"],
  boolean: ["true", "false"],
  json: ["cs", "eq"],
  array: ["cs", "eq"],
  binary: ["eq", "neq", "in"],
  uuid: ["eq", "neq", "in"],
  search: ["fts"],
} as const satisfies Readonly<Record<string, readonly FilterOperator[]>>;

export type TypeKind = keyof typeof operatorsByKind;

export function operatorsOf({ baseType, enumLabels }: FilteredColumn): readonly FilterOperator[] {
  const kind = enumLabels.length > 0 ? "enum" : typeKind(baseType);
  return [...operatorsByKind[kind], "null", "notnull"];
}

const typePatterns: readonly (readonly [pattern: RegExp, kind: TypeKind])[] = [
  [/\[\]$/, "array"],
  [/^(?:smallint|integer|bigint|numeric|real|double precision|money|oid)$/, "number"],
  [/^(?:date|interval|time(?:stamp)? with(?:out)? time zone)$/, "time"],
  [/^boolean$/, "boolean"],
  [/^jsonb?$/, "json"],
  [/^bytea$/, "binary"],
  [/^uuid$/, "uuid"],
  [/^tsvector$/, "search"],
];

export function typeKind(baseType: string): TypeKind {
  const name = baseType.replace(/\(.*\)/, "").trim();
  return typePatterns.find(([pattern]) => pattern.test(name))?.[1] ?? "text";
}

export interface SortTerm {
  readonly column: string;
  readonly descending: boolean;
}

export interface TableQuery {
  /** Items of `select`, unparsed; null for all columns. */
  readonly select: readonly string[] | null;
  readonly filters: readonly ColumnFilter[];
  readonly order: readonly SortTerm[];
  readonly limit: number;
  readonly offset: number;
  /** Cursor; an empty one means the first page (`after`) or last page (`before`). Null for a page by
   * `offset`. */
  readonly position: readonly [name: "after" | "before", cursor: string] | null;
  /** Parameters for which the page has no control. */
  readonly others: readonly (readonly [name: string, value: string])[];
}

/** Number of rows of a page if there is no `limit`. */
export const defaultLimit = 50;

export const emptyTableQuery: TableQuery = {
  select: null,
  filters: [],
  order: [],
  limit: defaultLimit,
  offset: 0,
  position: null,
  others: [],
};

/** Orders by the primary key and pages by cursors; unchanged if the query has an order, an offset or groups. */
export function inKeyOrder(query: TableQuery, primaryKey: readonly string[]): TableQuery {
  const { select, order, offset, others } = query;
  const isGrouped = select?.some((item) => /(?:^|:)count\(\)|\.[a-z_0-9]+\(/.test(item)) ?? false;
  const isOrdered = order.length > 0 || others.some(([name]) => /^(?:order|distinct)$/.test(name));
  if (primaryKey.length === 0 || isOrdered || isGrouped || offset > 0) return query;
  return {
    ...query,
    order: primaryKey.map((column) => ({ column, descending: false })),
    position: query.position ?? ["after", ""],
  };
}

export function firstPage(query: TableQuery): TableQuery {
  return { ...query, offset: 0, position: query.position === null ? null : ["after", ""] };
}

/** Returns the query string. It always has a limit. */
export function formatQuery(query: TableQuery): string {
  const { select, filters, order, limit, offset, position, others } = query;
  const params: (readonly [name: string, value: string])[] = [
    ...(select === null ? [] : [["select", select.join(",")] as const]),
    ...filters.map(filterParam),
    ...others,
    ...(order.length === 0 ? [] : [["order", order.map(formatOrder).join(",")] as const]),
    ["limit", String(limit)],
    ...(offset === 0 ? [] : [["offset", String(offset)] as const]),
    ...(position === null ? [] : [position]),
  ];
  return params.map((param) => param.map(encode).join("=")).join("&");
}

/** Parses a query string. Parameters for which the page has no control are kept. */
export function parseQuery(query: string): TableQuery {
  let parsed: TableQuery = emptyTableQuery;
  for (const [name, value] of splitParams(query)) parsed = addParam(parsed, name, value);
  return parsed;
}

function addParam(query: TableQuery, name: string, value: string): TableQuery {
  const whole = /^(?:0|[1-9][0-9]{0,14})$/.test(value) ? Number(value) : null;
  if (name === "select") return { ...query, select: value === "*" ? null : splitList(value) };
  if (name === "limit" && whole !== null) return { ...query, limit: whole };
  if (name === "offset" && whole !== null) return { ...query, offset: whole };
  if ((name === "after" || name === "before") && /^[A-Za-z0-9_-]*$/.test(value)) {
    return { ...query, position: [name, value] };
  }
  const order = name === "order" ? parseOrder(value) : null;
  if (order !== null) return { ...query, order };
  const filter = parseFilter(name, value);
  if (filter !== null) return { ...query, filters: [...query.filters, filter] };
  return { ...query, others: [...query.others, [name, value]] };
}

/** Returns the parameters of a query string, decoded. */
export function splitParams(query: string): readonly (readonly [name: string, value: string])[] {
  return [...new URLSearchParams(query)];
}

/** Percent-encodes a name or value, except for characters of the API's grammar. */
export function encode(text: string): string {
  return encodeURIComponent(text.toWellFormed())
    .replace(/%(?:2C|3A|3E|40)/g, (code) => decodeURIComponent(code));
}

/** Returns the name from which {@linkcode queryName} makes a text; null for other texts. */
function parseName(text: string): string | null {
  const name = unquoted(text);
  return queryName(name) === text ? name : null;
}

const pathPattern = /(?:->>?[A-Za-z_0-9]+)*$/;

export function filterParam(
  { column, path, operator, value }: ColumnFilter,
): readonly [name: string, value: string] {
  return [queryName(column) + path, filterValue(operator, value)];
}

function filterValue(operator: FilterOperator, value: string): string {
  const fixed = fixedValues.get(operator);
  if (fixed !== undefined) return fixed;
  if (operator === "contains") return `ilike.*${escapePattern(value)}*`;
  if (operator === "starts") return `ilike.${escapePattern(value)}*`;
  if (operator === "in") return `in.(${value.split("\n").map(listItem).join(",")})`;
  return `${operator}.${value}`;
}

function escapePattern(text: string): string {
  return text.replace(/[\\%_]/g, "\\$&");
}

function listItem(text: string): string {
  return /^[A-Za-z0-9_:+-][A-Za-z0-9_:+. -]*$/.test(text) && text === text.trim()
    ? text
    : `"${text.replace(/[\\"]/g, "\\$&")}"`;
}

/** Returns the filter of a parameter; null if the page has no control for it. */
export function parseFilter(name: string, value: string): ColumnFilter | null {
  const path = pathPattern.exec(name)?.[0] ?? "";
  const column = parseName(name.slice(0, name.length - path.length));
  const operation = parseOperator(value);
  if (column === null || operation === null) return null;
  const filter = { column, path, ...operation };
  const [sameName, sameValue] = filterParam(filter);
  return sameName === name && sameValue === value ? filter : null;
}

function parseOperator(value: string): Pick<ColumnFilter, "operator" | "value"> | null {
  for (const [operator, text] of fixedValues) if (text === value) return { operator, value: "" };
  const pattern = /^ilike\.(\*?)(.*)\*$/s.exec(value);
  if (pattern !== null) {
    const body = pattern[2]!.replace(/\\([\\%_])/g, "$1");
    return { operator: pattern[1] === "*" ? "contains" : "starts", value: body };
  }
  if (value.startsWith("in.(") && value.endsWith(")")) {
    const items = splitList(value.slice(4, -1)).map(unquoted);
    return { operator: "in", value: items.join("\n") };
  }
  const operator = plainOperators.find((word) => value.startsWith(`${word}.`));
  return operator === undefined ? null : { operator, value: value.slice(operator.length + 1) };
}

function unquoted(text: string): string {
  return /^".*"$/s.test(text) ? text.slice(1, -1).replace(/\\(["\\])/g, "$1") : text;
}

function formatOrder({ column, descending }: SortTerm): string {
  return `${queryName(column)}.${descending ? "desc" : "asc"}`;
}

/** Returns the terms of `order`; null if the page has no control for one of them. */
function parseOrder(text: string): readonly SortTerm[] | null {
  const terms = splitList(text).map((item) => {
    const direction = /\.(asc|desc)$/.exec(item)?.[1] ?? null;
    const column = parseName(direction === null ? item : item.slice(0, -direction.length - 1));
    return column === null ? null : { column, descending: direction === "desc" };
  });
  return terms.every((term) => term !== null) ? terms : null;
}

/** Splits a list at commas outside of parentheses and quotes. */
function splitList(text: string): readonly string[] {
  const items: string[] = [];
  let [depth, start, isQuoted] = [0, 0, false];
  for (let at = 0; at < text.length; at++) {
    const character = text[at];
    if (isQuoted && character === "\\") at++;
    else if (character === '"') isQuoted = !isQuoted;
    else if (isQuoted) continue;
    else if (character === "(") depth++;
    else if (character === ")") depth--;
    else if (character === "," && depth === 0) {
      items.push(text.slice(start, at));
      start = at + 1;
    }
  }
  items.push(text.slice(start));
  return items.filter((item) => item !== "");
}

/** Returns the items of `select` after showing or hiding a column. `columns` are all names. */
export function toggleColumn(
  { select }: Pick<TableQuery, "select">,
  column: string,
  columns: readonly string[],
): readonly string[] | null {
  const items = select ?? columns.map(queryName);
  const name = queryName(column);
  const expanded = items.flatMap((item) => item === "*" ? columns.map(queryName) : [item]);
  const isShown = expanded.includes(name);
  const embeds = expanded.filter((item) => !columns.some((each) => queryName(each) === item));
  const rest = columns.filter((each) =>
    each === column ? !isShown : expanded.includes(queryName(each))
  );
  const isAll = rest.length === columns.length;
  if (isAll && embeds.length === 0) return null;
  return [...(isAll ? ["*"] : rest.map(queryName)), ...embeds];
}
