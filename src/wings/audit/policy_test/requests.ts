/** Generates requests that reach the rows of a relation in each way that the API has. @module */
import { equalParam, queryName } from "../../../api/request/url/filter_param.ts";
import { encodeText, pathSegment } from "../../../base/http/percent.ts";
import type { Relation, Relationship, Routine } from "../../../state/schema_cache/schema_cache.ts";
import type { CaseRequest } from "./case_file.ts";

/** A row as JSON has it. */
export type JsonRow = Readonly<Record<string, unknown>>;

/** The columns of a relation that a role may use, by action. DELETE has all columns or no column. */
export type Grants = Readonly<Record<"select" | "insert" | "update" | "delete", readonly string[]>>;

/** A relation as a caller reaches it. */
export interface RelationTarget {
  readonly relation: Relation;
  readonly grants: Grants;
  /** Rows that the requests name, as of those that the caller cannot see. */
  readonly rows: readonly JsonRow[];
  /** A row that the caller can see; null without one. */
  readonly visible: JsonRow | null;
  /** Computed columns. */
  readonly computed: readonly string[];
  /** Relationships to relations of the exposed schemas. */
  readonly related: readonly (readonly [Relationship, RelationTarget])[];
}

/** Properties of the API for all requests. */
export interface RequestOptions {
  /** The schema of requests without a header. */
  readonly schema: string;
  readonly hasAggregates: boolean;
}

type Add = (method: string, query: string, body?: JsonRow | null, ...prefer: string[]) => void;

/** Returns the requests, from the simplest to the least simple. */
export function requestsOf(target: RelationTarget, options: RequestOptions): CaseRequest[] {
  const { relation: { name, schema }, grants } = target;
  const path = `/${pathSegment(name)}`;
  const profiles = schema === options.schema ? [] : ["Accept-Profile", "Content-Profile"];
  const found: CaseRequest[] = [];
  const add: Add = (method, query, body = null, ...prefer) =>
    found.push({
      method,
      target: query === "" ? path : `${path}?${query}`,
      headers: [
        ...profiles.map((header) => [header, schema] as const),
        ...prefer.map((value) => ["Prefer", value] as const),
      ],
      body: body && JSON.stringify(body),
    });
  if (grants.select.length > 0) addReads(add, target, options);
  else add("GET", "");
  addWrites(add, target);
  return found;
}

const list = (columns: readonly string[]) =>
  columns.map((column) => encodeText(queryName(column))).join(",");

/** Returns the filter of a value; empty for values that no filter finds. */
function filterOf(column: string, value: unknown): string[] {
  if (value === undefined || (typeof value === "object" && value !== null)) return [];
  return [equalParam(column, value === null ? null : String(value))];
}

/** Returns the filter that finds a row. */
function whereOf({ primaryKey, columns }: Relation, row: JsonRow): string {
  const keys = primaryKey.length > 0 ? primaryKey : columns.slice(0, 1).map(({ name }) => name);
  return keys.flatMap((key) => filterOf(key, row[key])).join("&");
}

function addReads(add: Add, target: RelationTarget, { hasAggregates }: RequestOptions): void {
  const { relation: { primaryKey, columns }, grants: { select }, rows, computed, related } = target;
  const key = list([...primaryKey, ...select].filter((each) => select.includes(each)).slice(0, 1));
  add("GET", `select=${list(select)}`, null, "count=exact");
  add("HEAD", `select=${list(select)}`, null, "count=exact");
  for (const column of select) {
    for (const row of primaryKey.includes(column) ? rows : rows.slice(-1)) {
      for (const filter of filterOf(column, row[column])) {
        add("GET", `select=${list([column])}&${filter}`);
      }
    }
  }
  for (const column of computed) {
    add("GET", `select=${key}&${list([column])}=not.is.null`);
    add("GET", `select=${key},${list([column])}&order=${list([column])}`);
  }
  const isOrdered = /int|numeric|double|real|text|char|date|time/;
  const ordered = columns.filter(({ baseType }) => isOrdered.test(baseType)).map(({ name }) =>
    name
  );
  const maxima = ordered.filter((name) => select.includes(name)).map((name) =>
    `${list([name])}.max()`
  );
  if (hasAggregates) add("GET", `select=${["count()", ...maxima].join(",")}`);
  for (const each of related) {
    if (each[1].grants.select.length > 0) addEmbeds(add, key, each, hasAggregates);
  }
}

/** Adds the requests of a relation that embed another one. */
function addEmbeds(
  add: Add,
  key: string,
  [each, { relation: { primaryKey: keys }, grants, rows }]: readonly [Relationship, RelationTarget],
  hasAggregates: boolean,
): void {
  const name = each.kind === "computed" ? each.function.name : each.foreign.name;
  const hint = each.kind === "computed"
    ? []
    : each.kind === "many-to-many"
    ? [each.junction.name]
    : [each.constraint];
  const embed = [list([name]), ...hint.map((part) => list([part]))].join("!");
  const isToOne = each.kind === "computed" ? each.toOne : each.kind.endsWith("to-one");
  add("GET", `select=${key},x:${embed}(${list(grants.select)})`);
  add("GET", `select=${key},x:${embed}()&x=not.is.null`, null, "count=exact");
  if (hasAggregates) add("GET", `select=${key},x:${embed}(count())`);
  if (isToOne) {
    add(
      "GET",
      `select=${key},...${embed}(${grants.select.map((column, at) => `y${at}:${list([column])}`)})`,
    );
  }
  // Keys come last, since they decide the order alone.
  const order = grants.select.toSorted((a, b) =>
    Number(keys.includes(a)) - Number(keys.includes(b))
  );
  if (isToOne) {
    add(
      "GET",
      `select=${key},x:${embed}()&order=${order.map((name) => `x(${list([name])})`)}`,
    );
  }
  for (const column of grants.select) {
    for (const filter of rows.slice(0, 1).flatMap((row) => filterOf(column, row[column]))) {
      add("GET", `select=${key},x:${embed}!inner()&x.${filter}`, null, "count=exact");
    }
  }
}

/** Values of keys that no row has. */
export const freshValues: readonly (readonly [type: RegExp, value: unknown])[] = [
  [/int|numeric/, 1_900_000_001],
  [/uuid/, "00000000-0000-4000-8000-000000900003"],
  [/text|char/, "svc"],
];

function addWrites(add: Add, { relation, grants, rows, visible, related }: RelationTarget): void {
  const { insert, update } = grants;
  const { primaryKey, columns, uniqueIndexes = [] } = relation;
  const own = visible === null ? null : whereOf(relation, visible);
  const sample = visible ?? rows[0] ?? {};
  const keys = uniqueIndexes.flatMap((index) => index.columns === null ? [] : [index.columns]);
  const representation = grants.select.length > 0
    ? [[`select=${list(grants.select)}`, "return=representation"]]
    : [];
  // The foreign keys of rows that refer to hidden rows.
  const references = related.flatMap(([each, parent]) =>
    each.kind !== "many-to-one"
      ? []
      : parent.rows.map((row): JsonRow =>
        Object.fromEntries(each.pairs.map(([column, foreign]) => [column, row[foreign]]))
      )
  );
  if (own !== null) {
    for (const name of update) add("PATCH", own, { [name]: sample[name] });
    for (const row of rows) {
      const body = update.map((name) => [name, row[name]] as const);
      for (const pair of body) add("PATCH", own, Object.fromEntries([pair]));
      if (body.length > 1) add("PATCH", own, Object.fromEntries(body));
    }
  }
  for (const name of update.slice(0, 1)) {
    for (const [select, prefer] of own === null ? [] : representation) {
      add("PATCH", `${own}&${select}`, { [name]: sample[name] }, prefer!);
    }
    for (const row of rows) add("PATCH", whereOf(relation, row), { [name]: sample[name] });
    add("PATCH", "", { [name]: sample[name] });
  }
  for (const reference of own === null || update.length === 0 ? [] : references) {
    add("PATCH", own!, reference);
  }
  if (insert.length > 0) {
    const written = columns.filter(({ name, generated }) => insert.includes(name) && !generated);
    const copy = (row: JsonRow) => Object.fromEntries(written.map(({ name }) => [name, row[name]]));
    const isFilled = ({ name, default: value }: typeof columns[0]) =>
      primaryKey.includes(name) && value !== null;
    const fresh = Object.fromEntries(
      written.filter((column) => !isFilled(column)).map(({ name, baseType }) => {
        const isKey = keys.flat().concat(primaryKey).includes(name) &&
          !references.some((each) => name in each);
        const value = freshValues.find(([type]) => isKey && type.test(baseType));
        return [name, value?.[1] ?? sample[name]];
      }),
    );
    for (const reference of [{}, ...references]) add("POST", "", { ...fresh, ...reference });
    for (const [select, prefer] of representation) add("POST", select!, fresh, prefer!);
    for (const row of rows) {
      add("POST", "", copy(row));
      for (const key of keys) {
        for (const word of ["merge", "ignore"]) {
          add("POST", `on_conflict=${list(key)}`, copy(row), `resolution=${word}-duplicates`);
        }
      }
      if (primaryKey.length > 0) add("PUT", whereOf(relation, row), copy(row));
    }
  }
  if (grants.delete.length === 0) return;
  for (
    const where of [...rows.map((row) => whereOf(relation, row)), ...own === null ? [] : [own], ""]
  ) {
    add("DELETE", where);
  }
}

/** Returns the calls of a function; arguments are null. */
export function callsOf({ name, parameters, volatility }: Routine): CaseRequest[] {
  const required = parameters.filter((each) => each.required);
  const target = `/rpc/${pathSegment(name)}`;
  const body = JSON.stringify(Object.fromEntries(required.map((each) => [each.name, null])));
  const isRead = required.length === 0 && volatility !== "volatile";
  return [{ method: isRead ? "GET" : "POST", target, headers: [], body: isRead ? null : body }];
}
