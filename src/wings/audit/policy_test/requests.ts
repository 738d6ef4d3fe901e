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
  const { relation, grants: { select } } = target;
  const profiles = relation.schema === schema ? [] : ["Accept-Profile", "Content-Profile"];
  const read = select.length > 0 ? reads(target, hasAggregates) : [["GET", ""] as const];
  const drafts = [...read, ...writes(target)];
  return [...new Map(drafts.map((draft) => [JSON.stringify(draft), draft])).values()].map((
    [method, query, body, prefer],
  ) => ({
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

/** Returns filters by the values of columns; objects and arrays have no filter. */
function filters(columns: readonly string[], row: JsonRow): readonly string[] {
  return columns.flatMap((column) => {
    const value = row[column];
    if (value === undefined || value !== null && typeof value === "object") return [];
    return [equalParam(column, value === null ? null : String(value))];
  });
}

function reads(target: RelationTarget, hasAggregates: boolean): RequestDraft[] {
  const { relation: { primaryKey, columns }, grants: { select }, rows, computed, related } = target;
  const key = list([...primaryKey, ...select].filter((each) => select.includes(each)).slice(0, 1));
  const maxima = columns.filter(({ name, baseType }) =>
    select.includes(name) && /int|numeric|double|real|text|char|date|time/.test(baseType)
  ).map(({ name }) => `${list([name])}.max()`);
  const queries = [
    ...select.flatMap((column) => rows.flatMap((row) => filters([column], row)))
      .map((filter) => `select=${key}&${filter}`),
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
  [each, { relation: { primaryKey }, grants: { select }, rows }]: RelationTarget["related"][0],
  hasAggregates: boolean,
): readonly string[] {
  if (select.length === 0) return [];
  const embed = each.kind === "computed"
    ? list([each.function.name])
    : `${list([each.foreign.name])}!${
      list([each.kind === "many-to-many" ? each.junction.name : each.constraint])
    }`;
  const isToOne = each.kind === "computed" ? each.toOne : each.kind.endsWith("to-one");
  const toOne = () => {
    // Keys come last, since they decide the order alone.
    const order = [...select].sort((a, b) => +primaryKey.includes(a) - +primaryKey.includes(b));
    return [
      `...${embed}(${select.map((column, at) => `y${at}:${list([column])}`)})`,
      `x:${embed}()&order=${order.map((column) => `x(${list([column])})`)}`,
    ];
  };
  return [
    `x:${embed}(${list(select)})`,
    `x:${embed}()&x=not.is.null`,
    ...hasAggregates ? [`x:${embed}(count())`] : [],
    ...isToOne ? toOne() : [],
    ...filters(select, rows[0] ?? {}).map((filter) => `x:${embed}!inner()&x.${filter}`),
  ];
}

const pick = (row: JsonRow, names: readonly string[]): JsonRow =>
  Object.fromEntries(names.filter((name) => name in row).map((name) => [name, row[name]]));

/** Values of keys that no row has, by patterns of types. */
export const freshValues = [
  ["int|numeric", 1_900_000_001],
  ["uuid", "00000000-0000-4000-8000-000000900003"],
  ["text|char", "svc"],
] as const;

/** Returns the foreign keys that refer to rows of parents. */
const referencesOf = (related: RelationTarget["related"]): readonly JsonRow[] =>
  related.flatMap(([each, { rows }]) =>
    each.kind !== "many-to-one" ? [] : rows.map((row): JsonRow => (
      Object.fromEntries(each.pairs.map(([column, foreign]) => [column, row[foreign]]))
    ))
  );

/** Returns writes with the values of own and hidden rows: one value, all but keys, all. */
function writes(target: RelationTarget): RequestDraft[] {
  const { relation: { primaryKey, columns, uniqueIndexes = [] }, grants, rows, visible } = target;
  const { select, insert, update } = grants;
  const names = columns.map(({ name }) => name);
  const whereOf = (row: JsonRow) =>
    filters(primaryKey.length > 0 ? primaryKey : names.slice(0, 1), row).join("&");
  const sample = visible ?? rows[0] ?? {};
  const references = referencesOf(target.related);
  const others = names.filter((name) => !primaryKey.includes(name));
  const parts = [...names.map((name) => pick(sample, [name])), ...references];
  for (const row of rows) {
    parts.push(pick(row, others), row, ...names.map((name) => pick(row, [name])));
  }
  const keys = uniqueIndexes.flatMap((index) => index.columns === null ? [] : [index.columns]);
  const written = columns.filter(({ name, generated }) => insert.includes(name) && !generated);
  const free = written.map(({ name }) => name);
  // Defaults may reveal rows, too.
  const fresh = Object.fromEntries(
    written.filter((each) => each.default === null).map(({ name, baseType }) => {
      const isKey = [...primaryKey, ...keys.flat()].includes(name) &&
        !references.some((each) => name in each);
      const other = freshValues.find(([type]) => isKey && new RegExp(type).test(baseType));
      return [name, other === undefined ? sample[name] : other[1]];
    }),
  );
  const first = pick(sample, update.slice(0, 1));
  const own = visible === null ? [] : [whereOf(visible)];
  const places = [...own, ...rows.map(whereOf), ""];
  const drafts: readonly RequestDraft[] = [
    ...own.flatMap((where) =>
      parts.map((part): RequestDraft => ["PATCH", where, pick(part, update)])
    ),
    ...places.map((where): RequestDraft => ["PATCH", where, first]),
    ...own.map((
      where,
    ): RequestDraft => [
      "PATCH",
      `${where}&select=${list(select)}`,
      first,
      "return=representation",
    ]),
    ...[{}, ...parts].map((part): RequestDraft => ["POST", "", { ...fresh, ...pick(part, free) }]),
    ["POST", `select=${list(select)}`, fresh, "return=representation"],
    ...target.related.flatMap((each) => nestedInserts(each, fresh)),
    ...rows.flatMap((row): RequestDraft[] => [
      ...keys.flatMap((key) =>
        ["merge", "ignore"].map((
          word,
        ): RequestDraft => [
          "POST",
          `on_conflict=${list(key)}`,
          pick(row, free),
          `resolution=${word}-duplicates`,
        ])
      ),
      ["PUT", whereOf(row), pick(row, free)],
    ]),
    ...places.map((where): RequestDraft => ["DELETE", where]),
  ];
  return drafts.filter(([method, , body]) => (
    method === "PATCH"
      ? Object.keys(body!).length > 0
      : (method === "DELETE" ? grants.delete : insert).length > 0
  ));
}

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
  const embed = `x:${list([name])}!${list([constraint])}`;
  return referencesOf(others).map((reference): RequestDraft => {
    const columns = `columns=${list(Object.keys(fresh))},${embed}(${list(Object.keys(reference))})`;
    return ["POST", columns, { ...fresh, x: [reference] }];
  });
}

/** Returns a call of a function. Required arguments are null. */
export function callOf({ name, parameters, volatility }: Routine): CaseRequest {
  const required = parameters.filter((each) => each.required);
  const target = `/rpc/${pathSegment(name)}`;
  const body = JSON.stringify(Object.fromEntries(required.map((each) => [each.name, null])));
  const isRead = required.length === 0 && volatility !== "volatile";
  return { method: isRead ? "GET" : "POST", target, headers: [], body: isRead ? null : body };
}
