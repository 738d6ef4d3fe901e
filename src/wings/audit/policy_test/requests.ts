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

/** A request to the relation. */
type RequestDraft = readonly [method: string, query: string, body?: JsonRow, prefer?: string];

/** Returns the requests, from the simplest on. Requests to another schema than `schema` have headers. */
export function requestsOf(
  target: RelationTarget,
  { schema, hasAggregates }: { readonly schema: string; readonly hasAggregates: boolean },
): readonly CaseRequest[] {
  const { relation, grants } = target;
  const read: readonly RequestDraft[] = grants.select.length > 0
    ? reads(target, hasAggregates)
    : [["GET", ""]];
  const profiles = relation.schema === schema ? [] : ["Accept-Profile", "Content-Profile"];
  return [...read, ...writes(target)].map(([method, query, body, prefer]) => ({
    method,
    target: `/${pathSegment(relation.name)}${query && `?${query}`}`,
    headers: [
      ...profiles.map((name) => [name, relation.schema] as const),
      ...prefer === undefined ? [] : [["Prefer", prefer] as const],
    ],
    body: body === undefined ? null : JSON.stringify(body),
  }));
}

const list = (columns: readonly string[]) =>
  columns.map((column) => encodeText(queryName(column))).join(",");

/** Returns filters by the values of a column; objects and arrays have no filter. */
function filters(column: string, rows: readonly JsonRow[]): readonly string[] {
  const values = rows.map((row) => row[column]).filter((value) => value !== undefined);
  return values.filter((value) => value === null || typeof value !== "object")
    .map((value) => equalParam(column, value === null ? null : String(value)));
}

/** Returns the filter that finds a row. */
function whereOf({ primaryKey, columns }: Relation, row: JsonRow): string {
  const keys = primaryKey.length > 0 ? primaryKey : columns.slice(0, 1).map(({ name }) => name);
  return keys.flatMap((key) => filters(key, [row])).join("&");
}

function reads(target: RelationTarget, hasAggregates: boolean): RequestDraft[] {
  const { relation: { primaryKey, columns }, grants: { select }, rows, computed, related } = target;
  const key = list([...primaryKey, ...select].filter((each) => select.includes(each)).slice(0, 1));
  const ordered = columns.filter(({ name, baseType }) =>
    select.includes(name) && /int|numeric|double|real|text|char|date|time/.test(baseType)
  );
  const maxima = ordered.map(({ name }) => `${list([name])}.max()`);
  const queries = [
    ...select.flatMap((column) =>
      filters(column, primaryKey.includes(column) ? rows : rows.slice(-1))
        .map((filter) => `select=${list([column])}&${filter}`)
    ),
    ...computed.map((name) => `select=${key}&${list([name])}=not.is.null`),
    ...computed.map((name) => `select=${key},${list([name])}&order=${list([name])}`),
    ...hasAggregates ? [`select=${["count()", ...maxima].join(",")}`] : [],
  ];
  return [
    ["GET", `select=${list(select)}`, undefined, "count=exact"],
    ["HEAD", `select=${list(select)}`, undefined, "count=exact"],
    ...queries.map((query): RequestDraft => ["GET", query]),
    ...related.flatMap((each) => embeds(each, hasAggregates))
      .map((embed): RequestDraft => ["GET", `select=${key},${embed}`, undefined, "count=exact"]),
  ];
}

/** Returns items of `select` that embed a relation, with parameters that use the embed. */
function embeds(
  [each, { relation, grants: { select }, rows }]: RelationTarget["related"][0],
  hasAggregates: boolean,
): readonly string[] {
  if (select.length === 0) return [];
  const name = each.kind === "computed" ? each.function.name : each.foreign.name;
  const hint = each.kind === "many-to-many"
    ? each.junction.name
    : each.kind !== "computed" && each.constraint;
  const embed = list([name]) + (hint === false ? "" : `!${list([hint])}`);
  const isToOne = each.kind === "computed" ? each.toOne : each.kind.endsWith("to-one");
  const isKey = (column: string) => relation.primaryKey.includes(column);
  // Keys come last, since they decide the order alone.
  const order = [...select.filter((column) => !isKey(column)), ...select.filter(isKey)];
  const toOne = [
    `...${embed}(${select.map((column, at) => `y${at}:${list([column])}`)})`,
    `x:${embed}()&order=${order.map((column) => `x(${list([column])})`)}`,
  ];
  const inner = select.flatMap((column) => filters(column, rows.slice(0, 1)));
  return [
    `x:${embed}(${list(select)})`,
    `x:${embed}()&x=not.is.null`,
    ...hasAggregates ? [`x:${embed}(count())`] : [],
    ...isToOne ? toOne : [],
    ...inner.map((filter) => `x:${embed}!inner()&x.${filter}`),
  ];
}

const pick = (row: JsonRow, names: readonly string[]): JsonRow =>
  Object.fromEntries(names.map((name) => [name, row[name]]));

function writes(target: RelationTarget): RequestDraft[] {
  const { relation, grants: { select, insert, update, ...grants }, rows, visible, related } =
    target;
  const sample = visible ?? rows[0] ?? {};
  const own = visible === null ? [] : [whereOf(relation, visible)];
  const places = [...rows.map((row) => whereOf(relation, row)), ""];
  const representation = (where: string) => `${where}&select=${list(select)}`;
  const references = referencesOf(related);
  const single = (row: JsonRow) => update.map((name) => pick(row, [name]));
  const patches = [
    ...single(sample),
    ...rows.flatMap((row) => [...single(row), pick(row, update)]),
    ...references,
  ];
  const first = pick(sample, update.slice(0, 1));
  const updates: RequestDraft[] = [
    ...own.flatMap((where) => patches.map((body): RequestDraft => ["PATCH", where, body])),
    ...places.map((where): RequestDraft => ["PATCH", where, first]),
    ...own.map((
      where,
    ): RequestDraft => ["PATCH", representation(where), first, "return=representation"]),
  ];
  return [
    ...update.length > 0 ? updates : [],
    ...insert.length > 0 ? inserts(target, sample, references) : [],
    ...[...own, ...places].filter(() => grants.delete.length > 0).map((
      where,
    ): RequestDraft => ["DELETE", where]),
  ];
}

/** Returns the foreign keys that refer to rows of parents. */
const referencesOf = (related: RelationTarget["related"]): readonly JsonRow[] =>
  related.flatMap(([each, { rows }]) =>
    each.kind !== "many-to-one"
      ? []
      : rows.map((row): JsonRow =>
        Object.fromEntries(each.pairs.map(([column, foreign]) => [column, row[foreign]]))
      )
  );

/** Returns inserts of a row with another one that refers to it and to a row of a third relation. */
function nestedInserts(
  [each, { grants, related }]: RelationTarget["related"][0],
  fresh: JsonRow,
): readonly RequestDraft[] {
  if (each.kind !== "one-to-many" || grants.insert.length === 0) return [];
  const { constraint, foreign: { name } } = each;
  const others = related.filter(([other]) =>
    other.kind === "many-to-one" && other.constraint !== constraint
  );
  return referencesOf(others).map((reference): RequestDraft => [
    "POST",
    `columns=${list(Object.keys(fresh))},x:${list([name])}!${list([constraint])}(${
      list(Object.keys(reference))
    })`,
    { ...fresh, x: [reference] },
  ]);
}

/** Values of keys that no row has. */
export const freshValues: readonly (readonly [type: RegExp, value: unknown])[] = [
  [/int|numeric/, 1_900_000_001],
  [/uuid/, "00000000-0000-4000-8000-000000900003"],
  [/text|char/, "svc"],
];

function inserts(
  { relation, grants, rows, related }: RelationTarget,
  sample: JsonRow,
  references: readonly JsonRow[],
): RequestDraft[] {
  const { primaryKey, columns, uniqueIndexes = [] } = relation;
  const { select } = grants;
  const keys = uniqueIndexes.flatMap((index) => index.columns === null ? [] : [index.columns]);
  const written = columns.filter(({ name, generated }) =>
    grants.insert.includes(name) && !generated
  );
  const fresh = Object.fromEntries(written.flatMap(({ name, baseType, default: value }) => {
    if (primaryKey.includes(name) && value !== null) return [];
    const isKey = [...primaryKey, ...keys.flat()].includes(name) &&
      !references.some((each) => name in each);
    const other = freshValues.find(([type]) => isKey && type.test(baseType));
    return [[name, other === undefined ? sample[name] : other[1]]];
  }));
  const copies = rows.flatMap((row): RequestDraft[] => {
    const body = pick(row, written.map(({ name }) => name));
    const upserts = keys.flatMap((key) =>
      ["merge", "ignore"].map((
        word,
      ): RequestDraft => [
        "POST",
        `on_conflict=${list(key)}`,
        body,
        `resolution=${word}-duplicates`,
      ])
    );
    return [["POST", "", body], ...upserts, ["PUT", whereOf(relation, row), body]];
  });
  // Constraints compare with values of other rows, and defaults may continue them.
  const free = written.map(({ name }) => name).filter((name) => !primaryKey.includes(name));
  const own = pick(fresh, Object.keys(fresh).filter((name) => !free.includes(name)));
  const borrowed = free.flatMap((left): JsonRow[] =>
    rows.slice(0, 1).map((row) => ({ ...pick(row, free), ...own, [left]: fresh[left] }))
  );
  const needed = written.filter((each) => each.default === null).map(({ name }) => name);
  const short = pick(fresh, needed.filter((name) => name in fresh));
  return [
    ...[{}, ...references].map((
      reference,
    ): RequestDraft => ["POST", "", { ...fresh, ...reference }]),
    ...borrowed.map((row): RequestDraft => ["POST", "", row]),
    ...select.length > 0
      ? [["POST", `select=${list(select)}`, short, "return=representation"] as const]
      : [],
    ...related.flatMap((each) => nestedInserts(each, fresh)),
    ["POST", `select=${list(grants.select)}`, fresh, "return=representation"],
    ...copies,
  ];
}

/** Returns a call of a function. Required arguments are null. */
export function callOf({ name, parameters, volatility }: Routine): CaseRequest {
  const required = parameters.filter((each) => each.required);
  const target = `/rpc/${pathSegment(name)}`;
  const body = JSON.stringify(Object.fromEntries(required.map((each) => [each.name, null])));
  const isRead = required.length === 0 && volatility !== "volatile";
  return { method: isRead ? "GET" : "POST", target, headers: [], body: isRead ? null : body };
}
