/** Plans the `ON CONFLICT` of an insert: the unique index, and the columns to update. @module */
import { errors } from "../../../base/errors/catalogue.ts";
import type { ServiceError } from "../../../base/errors/service_error.ts";
import type { ApiRequest } from "../../request/api_request.ts";
import type { LevelConflict } from "../../request/url/query_types.ts";
import type { Relation, UniqueIndex } from "../../../state/schema_cache/schema_cache.ts";
import { type Conditions, planConditions } from "../conditions.ts";
import type { FieldScope } from "../values/fields.ts";

export interface Conflict {
  readonly target: ConflictTarget;
  /** Treatment of existing rows: they are updated, skipped, or returned unchanged. */
  readonly resolution: "merge" | "ignore" | "find";
  readonly columns: readonly string[];
  /** Conditions of the update on the existing and the proposed row. */
  readonly where: Conditions;
}

/** The keys of the unique index that PostgreSQL must find. */
export type ConflictTarget = Omit<UniqueIndex, "name">;

export function columnsTarget(columns: readonly string[]): ConflictTarget {
  return { columns, expressions: [], predicate: null };
}

/** Plans `ON CONFLICT`; null without `resolution`. Throws `157`, and `204` if a column does not exist. */
export function planConflict(
  { preferences: { resolution }, query }: ApiRequest,
  relation: Relation,
  names: readonly string[],
  context: Pick<FieldScope, "cache" | "values">,
): Conflict | null {
  const { onConflict, conflictIndex, conflictColumns, conflictWhere } = query;
  const part = conflictColumns !== null ? "columns" : conflictWhere !== null ? "where" : null;
  if (part !== null && resolution !== "merge-duplicates") {
    throw errors.invalidConflict(`'on_conflict.${part}' needs resolution=merge-duplicates`);
  }
  if (conflictIndex !== null && resolution === null) {
    throw errors.invalidConflict("'on_conflict.index' needs a resolution");
  }
  if (resolution === null) return null;
  const target = conflictIndex === null
    ? columnTarget(onConflict, relation)
    : indexTarget(conflictIndex, onConflict, relation);
  if (target === null && resolution !== "return-existing") return null;
  if (target === null) throw noTarget(relation);
  checkColumns(conflictColumns ?? [], names, relation);
  const logic = conflictWhere === null ? [] : [conflictWhere];
  return {
    target,
    resolution: effectOf(resolution, names),
    columns: conflictColumns ?? names,
    where: planConditions([], logic, relation, { ...context, hasExcluded: true }),
  };
}

/** Returns the effect on existing rows, which stay unchanged if there are no columns to update. */
function effectOf(
  resolution: NonNullable<LevelConflict["resolution"]>,
  written: readonly string[],
): Conflict["resolution"] {
  if (resolution === "return-existing") return "find";
  return resolution === "merge-duplicates" && written.length > 0 ? "merge" : "ignore";
}

/** Plans `ON CONFLICT` of a nested item with these columns; null without `resolution`. Throws `157`. */
export function planLevelConflict(
  { onConflict, resolution }: LevelConflict,
  relation: Relation,
  written: readonly string[],
): Conflict | null {
  if (resolution === null) return null;
  const target = columnTarget(onConflict, relation);
  if (target === null) throw noTarget(relation);
  return { target, resolution: effectOf(resolution, written), columns: written, where: [] };
}

function noTarget({ name }: Relation): ServiceError {
  return errors.invalidConflict(`'${name}' has no primary key, so name the columns`);
}

/** Returns whether a unique index exists to which the `resolution` of an insert applies. */
export function hasConflictTarget({ query }: ApiRequest, relation: Relation): boolean {
  return query.conflictIndex !== null || (query.onConflict ?? relation.primaryKey).length > 0;
}

function columnTarget(
  onConflict: readonly string[] | null,
  relation: Relation,
): ConflictTarget | null {
  const columns = onConflict ?? relation.primaryKey;
  if (columns.length === 0) return null;
  if (onConflict === null) return columnsTarget(columns);
  const fitting = (relation.uniqueIndexes ?? []).filter((index) => isOn(index, columns));
  const partial = fitting.filter(({ predicate }) => predicate !== null);
  // If no unique index has the columns, PostgreSQL reports an error.
  if (partial.length < fitting.length || partial.length === 0) return columnsTarget(columns);
  const [only, ...others] = partial;
  if (others.length === 0) return { ...columnsTarget(columns), predicate: only!.predicate };
  const names = partial.map(({ name }) => `'${name}'`).join(", ");
  throw errors.invalidConflict(
    `Several unique indexes have these columns: ${names}`,
    "Name one of them by on_conflict.index",
  );
}

function isOn({ columns }: UniqueIndex, names: readonly string[]): boolean {
  const wanted = new Set(names);
  return columns !== null && columns.length === wanted.size &&
    columns.every((column) => wanted.has(column));
}

function indexTarget(
  name: string,
  onConflict: readonly string[] | null,
  { name: table, uniqueIndexes = [] }: Relation,
): ConflictTarget {
  if (onConflict !== null) {
    throw errors.invalidConflict("'on_conflict.index' cannot be combined with 'on_conflict'");
  }
  const index = uniqueIndexes.find((each) => each.name === name);
  if (index !== undefined) return index;
  throw errors.invalidConflict(`'${table}' has no unique index '${name}'`);
}

function checkColumns(
  columns: readonly string[],
  written: readonly string[],
  relation: Relation,
): void {
  for (const column of columns) {
    if (written.includes(column)) continue;
    const exists = relation.columns.some(({ name }) => name === column);
    throw exists
      ? errors.invalidConflict(`The body does not write '${column}'`)
      : errors.noColumn(column, relation.name);
  }
}
