/**
 * What a write does: which columns of which rows, and what comes back.
 *
 * @module
 */
import type { Dialect } from "../dialect.ts";
import { errors } from "../errors/catalogue.ts";
import type { TargetNameUse } from "../errors/target_name_warning.ts";
import type { ApiRequest, Payload } from "../request/api_request.ts";
import type { OrderTerm, QueryParams } from "../request/query_types.ts";
import type { QualifiedName, Relation, SchemaCache } from "../schema_cache/schema_cache.ts";
import { type Conditions, planConditions } from "./conditions.ts";
import { plainField } from "./fields.ts";
import { neededColumns, planRead, type ReadConfig, type ReadPlan } from "./read_plan.ts";

/** Options that writing depends on. */
export interface MutateConfig extends ReadConfig {
  readonly dialect: ReadConfig["dialect"] & Pick<Dialect, "emptySelect">;
}

/** A column that is written. */
export interface WrittenColumn {
  readonly name: string;
  /** Type with modifier, as the catalogue prints it. */
  readonly type: string;
  /** Function from json to the column's domain, if there is one. */
  readonly fromJson: QualifiedName | null;
  /** SQL text of the default for rows that lack the key; null writes NULL. */
  readonly default: string | null;
}

/** The rows of a body, as PostgreSQL is to expand them. */
export interface WrittenRows {
  readonly json: string | Uint8Array;
  readonly shape: "object" | "array";
  readonly columns: readonly WrittenColumn[];
  /** Whether keys that a row lacks get the column's default. */
  readonly defaults: boolean;
}

/** What happens to a row whose key exists. */
export interface Conflict {
  readonly target: readonly string[];
  readonly resolution: "merge" | "ignore";
}

/** Which rows a limited update or delete picks. */
export interface LimitedRows {
  readonly order: readonly OrderTerm[];
  readonly limit: bigint | null;
  readonly offset: bigint;
}

interface WriteEnds {
  readonly relation: Relation;
  /** Columns that RETURNING supplies; none returns only the number of rows. */
  readonly returning: readonly string[] | "all" | "none";
  /** How the returned rows are read; null when nothing is returned. */
  readonly read: ReadPlan | null;
  /** Those of `select` and its parameters, also when nothing is returned. */
  readonly targetNameUses: readonly TargetNameUse[];
}

export type MutatePlan =
  & WriteEnds
  & (
    | {
      readonly kind: "insert";
      readonly rows: WrittenRows;
      readonly conflict: Conflict | null;
      /** PUT: only body rows that equal the URL's key are taken. */
      readonly where: Conditions | null;
    }
    | {
      readonly kind: "update";
      readonly rows: WrittenRows;
      readonly where: Conditions;
      readonly limited: LimitedRows | null;
    }
    | {
      readonly kind: "delete";
      readonly where: Conditions;
      readonly limited: LimitedRows | null;
    }
  );

/** Plans POST. Raises `204` for unknown columns, and what planning the representation raises. */
export function planInsert(
  request: ApiRequest,
  relation: Relation,
  cache: SchemaCache,
  config: MutateConfig,
): MutatePlan {
  const written = ends(request, relation, cache, config);
  const rows = writtenRows(request, relation, cache, request.query.columns);
  return {
    kind: "insert",
    rows,
    conflict: conflictOf(request, relation, rows),
    where: null,
    ...written,
  };
}

/** Plans PUT. Raises `105` unless the filters are exactly the primary key. */
export function planPut(
  request: ApiRequest,
  relation: Relation,
  cache: SchemaCache,
  config: MutateConfig,
): MutatePlan {
  const written = ends(request, relation, cache, config);
  checkPutFilters(request, relation);
  const rows = writtenRows(request, relation, cache, null);
  const missing = relation.primaryKey.some((key) =>
    !rows.columns.some((column) => column.name === key)
  );
  if (missing) throw errors.putMismatch();
  return {
    kind: "insert",
    rows,
    conflict: { target: relation.primaryKey, resolution: "merge" },
    where: planConditions(rootFilters(request), [], relation, cache),
    ...written,
  };
}

/** Plans PATCH. */
export function planUpdate(
  request: ApiRequest,
  relation: Relation,
  cache: SchemaCache,
  config: MutateConfig,
): MutatePlan {
  const written = ends(request, relation, cache, config);
  return {
    kind: "update",
    rows: writtenRows(request, relation, cache, request.query.columns),
    where: rootConditions(request, relation, cache),
    limited: limitedRows(request),
    ...written,
  };
}

/** Plans DELETE. */
export function planDelete(
  request: ApiRequest,
  relation: Relation,
  cache: SchemaCache,
  config: MutateConfig,
): MutatePlan {
  return {
    kind: "delete",
    where: rootConditions(request, relation, cache),
    limited: limitedRows(request),
    ...ends(request, relation, cache, config),
  };
}

function ends(
  { query, preferences, schema, window }: ApiRequest,
  relation: Relation,
  cache: SchemaCache,
  config: MutateConfig,
): WriteEnds {
  const select = isEmptySelect(query) && config.dialect.emptySelect === "primary key"
    ? [...relation.primaryKey].sort().map(plainField)
    : query.select;
  const read = planRead(
    {
      query: { ...query, select },
      window,
      schema,
      source: { kind: "rows", alias: relation.name, relation, origin: relation },
      purpose: "representation",
    },
    cache,
    config,
  );
  const { targetNameUses } = read;
  switch (preferences.return) {
    case "representation":
      return { relation, returning: neededColumns(read), read, targetNameUses };
    case "headers-only": {
      const isAll = query.defaultSelect || select.length === 0;
      const returning = isAll ? "all" : headerColumns(read, relation);
      return { relation, returning, read: null, targetNameUses };
    }
    default:
      return { relation, returning: "none", read: null, targetNameUses };
  }
}

/** Whether the query string has `select=` without a value. */
function isEmptySelect({ select, defaultSelect }: QueryParams): boolean {
  return select.length === 0 && !defaultSelect;
}

/** The selected columns and the primary key, in the order in which `Location` lists the key. */
function headerColumns(read: ReadPlan, { columns, primaryKey }: Relation): readonly string[] {
  const needed = neededColumns(read);
  const selected = needed === "all" ? columns.map(({ name }) => name) : needed;
  return [...new Set([...selected, ...primaryKey])].sort();
}

function writtenRows(
  request: ApiRequest,
  relation: Relation,
  cache: SchemaCache,
  columns: readonly string[] | null,
): WrittenRows {
  const { json, shape, keys } = jsonBody(request.payload);
  // What the body itself names is the same in all its rows, so that nothing is missing there.
  const named = isJson(request.payload) ? columns : null;
  return {
    json,
    shape,
    columns: (named ?? keys ?? []).map((name) => writtenColumn(name, relation, cache)),
    defaults: request.preferences.missing === "default" && named !== null,
  };
}

function isJson(payload: Payload | null): boolean {
  return payload?.kind === "json" && payload.source === "json";
}

function jsonBody(payload: Payload | null) {
  switch (payload?.kind) {
    case "json":
      return { json: payload.text, shape: payload.shape, keys: payload.keys };
    default:
      return { json: "[]", shape: "array" as const, keys: [] };
  }
}

function writtenColumn(name: string, relation: Relation, cache: SchemaCache): WrittenColumn {
  const column = cache.column(relation, name);
  if (column === undefined) throw errors.noColumn(name, relation.name);
  return {
    name,
    type: column.declaredType,
    fromJson: cache.representation("json", column.declaredType) ?? null,
    default: column.default,
  };
}

function conflictOf(
  { preferences, query }: ApiRequest,
  relation: Relation,
  rows: WrittenRows,
): Conflict | null {
  const target = conflictTarget(query.onConflict, relation);
  if (preferences.resolution === null || target.length === 0) return null;
  const merge = preferences.resolution === "merge-duplicates" && rows.columns.length > 0;
  return { target, resolution: merge ? "merge" : "ignore" };
}

function conflictTarget(onConflict: readonly string[] | null, relation: Relation) {
  return onConflict ?? relation.primaryKey;
}

/** Whether `resolution` is honoured, so that it may be named in `Preference-Applied`. */
export function honoursResolution({ query }: ApiRequest, relation: Relation): boolean {
  return conflictTarget(query.onConflict, relation).length > 0;
}

function checkPutFilters({ query }: ApiRequest, relation: Relation): void {
  const key = relation.primaryKey;
  const names = new Set(query.filterNames);
  const exact = key.length > 0 && names.size === key.length && key.every((name) => names.has(name));
  const plain = query.filters.every(({ path, value: { field, negated, operation } }) =>
    path.length === 0 && field.path.length === 0 && !negated && operation.kind === "compare" &&
    operation.operator === "eq" && operation.quantifier === null
  );
  if (!exact || !plain || query.logic.length > 0) throw errors.invalidPut();
}

function rootFilters({ query }: ApiRequest) {
  return query.filters.filter(({ path }) => path.length === 0).map(({ value }) => value);
}

function rootConditions(request: ApiRequest, relation: Relation, cache: SchemaCache): Conditions {
  const logic = request.query.logic.filter(({ path }) => path.length === 0);
  return planConditions(rootFilters(request), logic.map(({ value }) => value), relation, cache);
}

function limitedRows({ query, window }: ApiRequest): LimitedRows | null {
  if (query.limit === null && query.offset === null) return null;
  const order = query.order.find(({ path }) => path.length === 0)?.value;
  // A column of another relation does not identify the rows that are written.
  if (order === undefined || order.some(({ relation }) => relation !== null)) {
    throw errors.limitWithoutOrder();
  }
  const limit = window.last === null ? null : window.last - window.first + 1n;
  return { order, limit, offset: window.first };
}

/** How many rows a limited write may change at most; null is any number. */
export function changeLimit(plan: MutatePlan): bigint | null {
  return plan.kind === "insert" ? null : plan.limited?.limit ?? null;
}
