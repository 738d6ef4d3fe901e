/** Generates requests that access the rows of a relation in each way that the API offers. @module */
import { equalParam, queryName } from "../../../api/request/url/filter_param.ts";
import { encodeText, pathSegment } from "../../../base/http/percent.ts";
import type { Relation, Relationship, Routine } from "../../../state/schema_cache/schema_cache.ts";
import type { CaseRequest } from "./case_file.ts";

/** A row as a JSON object. */
export type JsonRow = Readonly<Record<string, unknown>>;

/** A relation and what a caller may do with it. */
export interface RelationTarget {
  readonly relation: Relation;
  /** The columns that the role may use, by action. For DELETE, all columns or none. */
  readonly grants: Readonly<Record<"select" | "insert" | "update" | "delete", readonly string[]>>;
  /** Rows that the requests address, such as rows that the caller cannot see. */
  readonly rows: readonly JsonRow[];
  /** A row that the caller can see, or null. */
  readonly visible: JsonRow | null;
  /** Computed columns. */
  readonly computed: readonly string[];
  /** Relationships to relations of the exposed schemas. */
  readonly related: readonly (readonly [Relationship, RelationTarget])[];
}

/** A request to the relation. */
type RequestDraft = readonly [method: string, query: string, body?: JsonRow, prefer?: string];

const draft = (...parts: RequestDraft): RequestDraft => parts;

/** Returns the requests, simplest first. Headers select the schema of a relation outside of `schema`. */
export function requestsOf(
  target: RelationTarget,
  { schema, hasAggregates }: { readonly schema: string; readonly hasAggregates: boolean },
): readonly CaseRequest[] {
  const { relation, grants: { select } } = target;
  const profiles = relation.schema === schema ? [] : ["Accept-Profile", "Content-Profile"];
  const written = writes(target);
  // Sends writes also with `return=representation`, because these also need SELECT.
  const answered = select.length === 0
    ? []
    : written.filter(([method, , body, prefer]) =>
      method !== "PUT" && body !== undefined && prefer === undefined
    ).map(([method, query, body]) => {
      const columns = `${query && `${query}&`}select=${list(select)}`;
      return draft(method, columns, body, "return=representation");
    });
  const read = select.length === 0 ? [draft("GET", "")] : reads(target, hasAggregates);
  const drafts = [...read, ...written, ...answered];
  return [...new Map(drafts.map((each) => [JSON.stringify(each), each])).values()].map(
    ([method, query, body, prefer]) => ({
      method,
      target: `/${pathSegment(relation.name)}${query && `?${query}`}`,
      headers: [
        ...profiles.map((name) => [name, relation.schema] as const),
        ...prefer === undefined ? [] : [["Prefer", prefer] as const],
      ],
      body: body === undefined ? null : JSON.stringify(body),
    }),
  );
}

const list = (columns: readonly string[]) =>
  columns.map((column) => encodeText(queryName(column))).join(",");

/** Returns filters by values of columns. Objects and arrays have no filter. */
const filters = (columns: readonly string[], row: JsonRow): readonly string[] =>
  columns.filter((name) => name in row && (row[name] === null || typeof row[name] !== "object"))
    .map((name) => equalParam(name, row[name] === null ? null : String(row[name])));

function reads(target: RelationTarget, hasAggregates: boolean): RequestDraft[] {
  const { relation: { primaryKey, columns }, grants: { select }, rows, computed, related } = target;
  const key = list([...primaryKey, ...select].filter((each) => select.includes(each)).slice(0, 1));
  const isOrdered = /int|numeric|double|real|text|char|date|time/;
  const maxima = columns.filter((each) =>
    select.includes(each.name) && isOrdered.test(each.baseType)
  )
    .map(({ name }) => `,${list([name])}.max()`);
  const queries = [
    ...select.flatMap((column) => rows.flatMap((row) => filters([column], row)))
      .map((filter) => `select=${key}&${filter}`),
    ...computed.map((name) => `select=${key}&${list([name])}=not.is.null`),
    ...computed.map((name) => `select=${key},${list([name])}&order=${list([name])}`),
    ...hasAggregates ? [`select=count()${maxima.join("")}`] : [],
  ];
  return [
    draft("GET", `select=${list(select)}`, undefined, "count=exact"),
    draft("HEAD", `select=${list(select)}`, undefined, "count=exact"),
    ...queries.map((query) => draft("GET", query)),
    ...related.flatMap((each) => embeds(each, hasAggregates))
      .map((embed) => draft("GET", `select=${key},${embed}`, undefined, "count=exact")),
  ];
}

/** Returns queries that embed a relation: a `select` item, and parameters that use the embed. */
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
  const aliases = select.map((column, at) => `y${at}:${list([column])}`);
  // Keys come last, because no column after a key affects the order.
  const order = select.toSorted((a, b) => +primaryKey.includes(a) - +primaryKey.includes(b))
    .map((column) => `x(${list([column])})`);
  return [
    `x:${embed}(${list(select)})`,
    `x:${embed}()&x=not.is.null`,
    ...hasAggregates ? [`x:${embed}(count())`] : [],
    ...isToOne ? [`...${embed}(${aliases})`, `x:${embed}()&order=${order}`] : [],
    ...filters(select, rows[0] ?? {}).map((filter) => `x:${embed}!inner()&x.${filter}`),
  ];
}

const pick = (row: JsonRow, names: readonly string[]): JsonRow =>
  Object.fromEntries(names.filter((name) => name in row).map((name) => [name, row[name]]));

/** Key values that no row has, by patterns of types. */
export const freshValues = [
  ["int|numeric", 1_900_000_001],
  ["uuid", "00000000-0000-4000-8000-000000900003"],
  ["text|char", "svc"],
] as const;

/** Returns values of the foreign key columns that refer to the addressed rows of parents. */
const referencesOf = (related: RelationTarget["related"]): readonly JsonRow[] =>
  related.flatMap(([each, { rows }]) =>
    each.kind !== "many-to-one" ? [] : rows.map((row) => (
      Object.fromEntries(each.pairs.map(([column, foreign]) => [column, row[foreign]]))
    ))
  );

/** Returns the filter that finds a row. */
const whereOf = ({ relation: { primaryKey, columns } }: RelationTarget, row: JsonRow): string =>
  filters([...primaryKey, ...columns.map(({ name }) => name)].slice(0, primaryKey.length || 1), row)
    .join("&");

/** Returns writes with values of visible and hidden rows: of one column, all columns but keys, all columns. */
function writes(target: RelationTarget): readonly RequestDraft[] {
  const { relation: { primaryKey, columns }, grants, rows, visible, related } = target;
  const { insert, update } = grants;
  const names = columns.map(({ name }) => name);
  const sample = visible ?? rows[0] ?? {};
  const others = names.filter((name) => !primaryKey.includes(name));
  const parts = [
    ...names.map((name) => pick(sample, [name])),
    ...referencesOf(related),
    ...rows.slice(0, 1).flatMap((row) => names.map((name) => pick(row, [name]))),
    ...rows.flatMap((row) => [pick(row, others), row]),
  ];
  const filters = visible === null ? [] : [whereOf(target, visible)];
  const places = [...filters, ...rows.map((row) => whereOf(target, row)), ""];
  return [
    ...[
      ...filters.flatMap((where) => parts.map((part) => draft("PATCH", where, pick(part, update)))),
      ...places.map((where) => draft("PATCH", where, pick(sample, update.slice(0, 1)))),
    ].filter(([, , body]) => Object.keys(body!).length > 0),
    ...insert.length > 0 ? inserts(target, sample, parts) : [],
    ...grants.delete.length > 0 ? places.map((where) => draft("DELETE", where)) : [],
  ];
}

function inserts(
  target: RelationTarget,
  sample: JsonRow,
  parts: readonly JsonRow[],
): readonly RequestDraft[] {
  const { relation: { primaryKey, columns, uniqueIndexes = [] }, grants, rows, related } = target;
  const keys = uniqueIndexes.flatMap((index) => index.columns === null ? [] : [index.columns]);
  const isFresh = (name: string) =>
    [...primaryKey, ...keys.flat()].includes(name) &&
    !referencesOf(related).some((each) => name in each);
  const written = columns.filter((each) => grants.insert.includes(each.name) && !each.generated);
  const names = written.map(({ name }) => name);
  // Columns with defaults are left out, because their defaults may reveal rows.
  const needed = written.filter((each) => each.default === null).map(({ name, baseType }) => {
    const [, value] = freshValues.find(([type]) => new RegExp(type).test(baseType)) ?? [];
    return [name, isFresh(name) ? value ?? sample[name] : sample[name]];
  });
  const fresh: JsonRow = Object.fromEntries(needed);
  return [
    ...[{}, ...parts].map((part) => draft("POST", "", { ...fresh, ...pick(part, names) })),
    ...related.flatMap((each) => nestedInserts(each, fresh)),
    ...rows.map((row) => draft("PUT", whereOf(target, row), pick(row, names))),
    ...rows.flatMap((row) =>
      keys.flatMap((key) =>
        ["merge-duplicates", "ignore-duplicates"].map((word) =>
          draft("POST", `on_conflict=${list(key)}`, pick(row, names), `resolution=${word}`)
        )
      )
    ),
  ];
}

/** Returns inserts of two rows. The second row refers to the first, and to a row of a third relation. */
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
  return referencesOf(others).map((reference) => {
    const columns = `${list(Object.keys(fresh))},${embed}(${list(Object.keys(reference))})`;
    return draft("POST", `columns=${columns}`, { ...fresh, x: [reference] });
  });
}

/** Returns a call of a function for each relation. Arguments are values of a row, chosen by type. */
export function callsOf(
  { name, parameters }: Routine,
  targets: readonly RelationTarget[],
): readonly CaseRequest[] {
  const required = parameters.filter((each) => each.required);
  const queries = targets.map(({ relation: { columns }, rows: [row = {}] }) =>
    required.map(({ name, baseType }) => {
      const column = columns.find((each) => each.baseType === baseType);
      const value = column === undefined ? null : row[column.name];
      return `${encodeText(name)}=${encodeText(String(value ?? ""))}`;
    }).join("&")
  );
  return [...new Set(queries)].map((query) => ({
    method: "GET",
    target: `/rpc/${pathSegment(name)}${query && `?${query}`}`,
    headers: [],
    body: null,
  }));
}
