/** Plans a write: the columns and rows that it changes, and the rows that it returns. @module */
import { errors } from "../../../base/errors/catalogue.ts";
import { ServiceError } from "../../../base/errors/service_error.ts";
import type { TargetNameUse } from "../../../base/errors/target_name_warning.ts";
import type { ApiRequest } from "../../request/api_request.ts";
import type { PatchDocument } from "../../request/body/patch_document.ts";
import type { AtLevel, ColumnItem, OrderTerm, RowLock } from "../../request/url/query_types.ts";
import type { Relation } from "../../../state/schema_cache/schema_cache.ts";
import { type Conditions, planConditions } from "../conditions.ts";
import { columnsTarget, type Conflict, planConflict } from "./conflict.ts";
import { keyedRows, type RowKey } from "./keyed_update.ts";
import { type ColumnPatches, planColumnPatches } from "./patch_plan.ts";
import type { NestedInsert } from "./insert_level.ts";
import { planNestedInsert } from "./nested_insert.ts";
import { orderKey } from "../read/order_key.ts";
import { withMergeAction, type WriteSelect } from "./merge_action.ts";
import type { WritePrecondition } from "./preconditions.ts";
import {
  neededColumns,
  type PlanContext,
  planRead,
  type ReadPlan,
  valueRules,
} from "../read/read_plan.ts";
import { plainField } from "../read/select_list.ts";
import {
  textColumn,
  type WrittenColumn,
  writtenColumn,
  type WrittenRows,
} from "./written_column.ts";
import type { Payload } from "../../request/body/body_decoder.ts";

export interface WriteContext extends PlanContext {
  readonly relation: Relation;
}

/** The rows that a limited update or delete changes. */
interface LimitedRows {
  /** Columns whose values identify a row. */
  readonly key: readonly string[];
  readonly order: readonly OrderTerm[];
  readonly limit: bigint | null;
  readonly offset: bigint;
  /** Treatment of rows that other transactions have locked; null to wait. */
  readonly lock: RowLock | null;
}

interface WriteReturning extends Pick<WriteSelect, "mergeAction"> {
  readonly relation: Relation;
  readonly returning: readonly string[] | "all" | "none";
  /** Further columns of RETURNING, to which later operations of a batch refer. Default: none. */
  readonly kept?: readonly string[];
  /** The plan of reading the returned rows; null when the response has no body. */
  readonly read: ReadPlan | null;
  /** Deprecated uses of target names, as in {@linkcode ReadPlan}. Also filled if `read` is null. */
  readonly targetNameUses: readonly TargetNameUse[];
  /** Default: none. */
  readonly precondition?: WritePrecondition;
  /**
   * Whether an upsert counts updated rows by `xmax`, which requires the privilege to select the
   * whole table. Used for Citus, which rejects the setting that other upserts use. Default: false.
   */
  readonly countsByXmax?: true;
}

export type MutatePlan =
  & WriteReturning
  & (
    | {
      readonly kind: "insert";
      readonly rows: WrittenRows;
      readonly conflict: Conflict | null;
      /** The levels of a nested insert, whose rows are not in `rows`; null for other inserts. */
      readonly nested: NestedInsert | null;
      /** PUT: the condition that the body's row has the key of the URL. Null for POST. */
      readonly where: Conditions | null;
    }
    | {
      readonly kind: "update";
      readonly rows: WrittenRows;
      /** How rows of the body are matched to rows of the relation; null if the body applies to all rows. */
      readonly key: RowKey | null;
      readonly where: Conditions;
      readonly limited: LimitedRows | null;
    }
    | {
      readonly kind: "patch";
      readonly document: Uint8Array;
      readonly patches: ColumnPatches;
      readonly where: Conditions;
      readonly limited: LimitedRows | null;
    }
    | {
      readonly kind: "delete";
      readonly where: Conditions;
      readonly limited: LimitedRows | null;
    }
  );

/** Plans POST. Throws `204` for unknown columns, `157` for conflicts, and the errors of planning the representation. */
export function planInsert(write: WriteContext): MutatePlan {
  const { request, relation, cache, config } = write;
  const returning = returningOf(write);
  const context = { cache, values: valueRules(request.query, config) };
  const conflictOf = (names: readonly string[]) => planConflict(request, relation, names, context);
  const { items, columns } = insertedColumns(write);
  const isFound = request.preferences.resolution === "return-existing";
  if (items !== null || isFound) {
    // A body without keys, such as an empty array, gets the columns that identify existing rows.
    const isEmpty = isFound && jsonBody(request.payload).keys?.length === 0;
    const names = columns ?? (isEmpty ? conflictOf([])!.target.columns : null);
    const flat = items === null ? writtenRows(write, names) : null;
    const all = items ?? flat!.columns.map(({ name }): ColumnItem => ({ kind: "column", name }));
    const planned = planNested(write, all, returning, conflictOf);
    const nested = flat === null ? planned : { ...planned, defaults: flat.defaults };
    const rows = flat ?? writtenRows(write, []);
    const { conflict } = nested.levels[0]!;
    return { kind: "insert", rows, conflict, nested, where: null, ...returning };
  }
  if (request.query.levelConflicts.length > 0) {
    throw errors.notInColumns(request.query.levelConflicts[0]!.path);
  }
  const rows = writtenRows(write, columns);
  const conflict = conflictOf(rows.columns.map(({ name }) => name));
  return { kind: "insert", rows, conflict, nested: null, where: null, ...returning };
}

/** Returns the items of a nested insert, or the columns of other inserts. Null means the keys of
 * the body. */
function insertedColumns(
  { request: { query: { columns, columnTree }, payload }, relation }: WriteContext,
): { readonly items: readonly ColumnItem[] | null; readonly columns: readonly string[] | null } {
  if (columnTree === null) return { items: null, columns };
  const { items, listEnd } = columnTree;
  const isTree = items instanceof ServiceError || items.some(({ kind }) => kind === "nested");
  if (isTree && relation.columns.some(({ name }) => name === listEnd)) {
    throw errors.notNestable([listEnd!], `It is a column of '${relation.name}'`);
  }
  if (items instanceof ServiceError) throw items;
  if (isTree) return { items, columns };
  if (!items.some(({ kind }) => kind === "all")) return { items: null, columns };
  const names = items.flatMap((item) => item.kind === "column" ? [item.name] : []);
  const all = [...new Set([...jsonBody(payload).keys ?? [], ...names])];
  return { items: null, columns: names.length === 0 ? null : all };
}

function planNested(
  { request, cache }: WriteContext,
  items: readonly ColumnItem[],
  { relation, returning, mergeAction }: WriteReturning,
  conflictOf: (names: readonly string[]) => Conflict | null,
): NestedInsert {
  const isFound = request.preferences.resolution === "return-existing";
  const key = isFound ? foundKey(relation, conflictOf([])!) : relation.primaryKey;
  const keys = returning === "none" && !isFound ? [] : key;
  if (returning !== "none" && keys.length === 0) {
    throw errors.notNestable(
      [relation.name],
      "It has no primary key, so only return=minimal is possible",
    );
  }
  const { shape } = jsonBody(request.payload);
  const root = { relation, shape, items, conflict: conflictOf, key, keys };
  const nested = planNestedInsert(request, root, cache);
  const { conflict, isReferred } = nested.levels[0]!;
  if (mergeAction !== null && isReferred && conflict?.resolution === "ignore") {
    throw errors.invalidConflict("'merge_action()' does not tell found from inserted rows");
  }
  return nested;
}

function foundKey({ primaryKey, name }: Relation, { target }: Conflict): readonly string[] {
  if (primaryKey.length > 0) return primaryKey;
  if (target.columns !== null && target.predicate === null) return target.columns;
  throw errors.invalidConflict(`'${name}' has no primary key`);
}

/** Plans PUT. Throws `105` unless the filters are exactly the primary key. */
export function planPut(write: WriteContext): MutatePlan {
  const { request, relation } = write;
  const returning = returningOf(write);
  checkPutFilters(request, relation);
  const rows = writtenRows(write, null);
  const missing = relation.primaryKey.some((key) =>
    !rows.columns.some((column) => column.name === key)
  );
  if (missing) throw errors.putMismatch();
  return {
    kind: "insert",
    rows,
    conflict: {
      target: columnsTarget(relation.primaryKey),
      resolution: "merge",
      columns: rows.columns.map(({ name }) => name),
      where: [],
    },
    nested: null,
    where: rootConditions(write),
    ...returning,
  };
}

/** Plans PATCH. Throws `145` for rows that cannot be matched by `on`; `149` and `150` for a patch
 * document. */
export function planUpdate(write: WriteContext): MutatePlan {
  const { request, relation } = write;
  const { query: { on, columns }, payload } = request;
  const returning = returningOf(write);
  const common = () => ({
    where: rootConditions(write),
    limited: limitedRows(request, relation),
    ...returning,
  });
  if (payload?.kind === "patch") {
    const patches = columnPatches(write, payload.document);
    return { kind: "patch", document: payload.text, patches, ...common() };
  }
  const rows = writtenRows(write, columns);
  const keyed = on === null
    ? { rows, key: null }
    : keyedRows(request, on, rows, columnReader(write));
  return { kind: "update", ...keyed, ...common() };
}

function columnPatches(
  { request: { query: { on, columns } }, relation, cache }: WriteContext,
  document: PatchDocument,
): ColumnPatches {
  if (on !== null) {
    throw errors.unmatchableRows(on, "'on' cannot be combined with a patch document");
  }
  const patches = planColumnPatches(document, (name) => ({
    ...writtenColumn(name, relation, cache),
    ...cache.column(relation, name)!,
  }));
  const others = patches.written.find(({ column }) => columns?.includes(column.name) === false);
  if (others === undefined) return patches;
  throw errors.invalidPatch(`'columns' does not name '${others.column.name}'`);
}

export function planDelete(write: WriteContext): MutatePlan {
  return {
    kind: "delete",
    where: rootConditions(write),
    limited: limitedRows(write.request, write.relation),
    ...returningOf(write),
  };
}

function returningOf({ request, relation, cache, config }: WriteContext): WriteReturning {
  const { query, preferences } = request;
  const isEmpty = query.select.length === 0 && !query.defaultSelect;
  const items = isEmpty && config.dialect.emptySelect === "primary key"
    ? [...relation.primaryKey].sort().map(plainField)
    : query.select;
  const { select, mergeAction } = withMergeAction(items, request, relation, cache);
  const rows = { alias: relation.name, relation, origin: relation };
  const source = { kind: "representation", ...rows } as const;
  const read = planRead({ ...request, query: { ...query, select }, source }, cache, config);
  const countsByXmax = cache.data.isDistributed === true && relation.systemColumns === "always";
  const common = {
    relation,
    mergeAction,
    targetNameUses: read.targetNameUses,
    ...(countsByXmax ? { countsByXmax } : {}),
  };
  switch (preferences.return) {
    case "representation":
      return { ...common, returning: neededColumns(read), read };
    case "headers-only": {
      const isAll = query.defaultSelect || select.length === 0;
      const returning = isAll ? "all" : headerColumns(read, relation);
      return { ...common, returning, read: null };
    }
    default:
      return { ...common, returning: "none", read: null };
  }
}

/** Returns the selected columns and the primary key, sorted as the key in `Location`. */
function headerColumns(read: ReadPlan, { columns, primaryKey }: Relation): readonly string[] {
  const needed = neededColumns(read);
  const selected = needed === "all" ? columns.map(({ name }) => name) : needed;
  return [...new Set([...selected, ...primaryKey])].sort();
}

function writtenRows(write: WriteContext, columns: readonly string[] | null): WrittenRows {
  const { request: { payload, preferences }, config: { dialect } } = write;
  const { json, shape, keys } = jsonBody(payload);
  const isNamed = dialect.writeParameters === "applied" ||
    payload?.kind === "json" && payload.source === "json";
  const named = isNamed ? columns : null;
  return {
    json,
    shape,
    columns: (named ?? keys ?? []).map(columnReader(write)),
    defaults: preferences.missing === "default" && named !== null,
  };
}

function columnReader(
  { request: { payload }, relation, cache, config: { dialect } }: WriteContext,
): (name: string) => WrittenColumn {
  const source = payload?.kind === "json" ? payload.source : "json";
  const isText = source === "csv" || source === "form" && dialect.csv === "exact";
  const read = isText ? textColumn : writtenColumn;
  return (name) => read(name, relation, cache);
}

function jsonBody(payload: Payload | null) {
  return payload?.kind === "json"
    ? { json: payload.text, shape: payload.shape, keys: payload.keys }
    : { json: "[]", shape: "array" as const, keys: [] };
}

function checkPutFilters({ query }: ApiRequest, relation: Relation): void {
  const key = relation.primaryKey;
  const names = new Set(query.filters.map(({ value }) => value.field.name));
  const exact = key.length > 0 && names.size === key.length && key.every((name) => names.has(name));
  const plain = query.filters.every(({ path, value: { field, operand, negated, operation } }) =>
    path.length === 0 && field.path.length === 0 && operand === undefined && !negated &&
    operation.kind === "compare" &&
    operation.operator === "eq" && operation.quantifier === null
  );
  if (!exact || !plain || query.logic.length > 0) throw errors.invalidPut();
}

function rootConditions({ request: { query }, relation, cache, config }: WriteContext): Conditions {
  const ofRoot = <T>(entries: readonly AtLevel<T>[]) =>
    entries.filter(({ path }) => path.length === 0).map(({ value }) => value);
  const values = valueRules(query, config);
  return planConditions(ofRoot(query.filters), ofRoot(query.logic), relation, { cache, values });
}

function limitedRows({ query, bounds }: ApiRequest, relation: Relation): LimitedRows | null {
  if (query.limit === null && query.offset === null) return null;
  const order = query.order.find(({ path }) => path.length === 0)?.value;
  // A column of another relation cannot identify the rows of a write.
  const isPlain = order?.every(({ relation, operand }) =>
    relation === null && operand === undefined
  );
  if (order === undefined || !isPlain) throw errors.limitWithoutOrder();
  const limit = bounds.last === null ? null : bounds.last - bounds.first + 1n;
  if (query.lock !== null && !relation.isView && relation.systemColumns === undefined) {
    throw errors.invalidLock(`PostgreSQL cannot lock rows of '${relation.name}'`);
  }
  return { key: rowKey(order, relation), order, limit, offset: bounds.first, lock: query.lock };
}

/** Returns the columns that identify a row: a key, or `tableoid` and `ctid`; for views and foreign
 * tables, the columns of the order. */
function rowKey(order: readonly OrderTerm[], relation: Relation): readonly string[] {
  const ordered = new Set(order.map(({ field }) => field.name));
  const key = relation.isView ? null : orderKey(relation, ordered);
  if (key !== null) return relation.isInherited ? ["tableoid", ...key] : key;
  return relation.systemColumns === undefined ? [...ordered] : ["tableoid", "ctid"];
}

/** Returns the maximum number of rows that a limited write may change; null for no limit. */
export function changeLimit(plan: MutatePlan): bigint | null {
  return plan.kind === "insert" ? null : plan.limited?.limit ?? null;
}
