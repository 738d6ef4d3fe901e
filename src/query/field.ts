/**
 * Columns, paths into them, casts and functions as SQL.
 *
 * @module
 */
import type { PlannedField, RowType } from "../plan/read_node.ts";
import type { PathStep } from "../request/query_types.ts";
import type { QualifiedName } from "../schema_cache/schema_cache.ts";
import { emptySql, ident, join, param, type Sql, sql, typeName } from "../sql/fragment.ts";

/**
 * A field of a relation. Columns are always qualified, because `t."f"` also calls the function `f`
 * with a row of `t`.
 */
export function renderField(field: PlannedField, qualifier: Sql): Sql {
  const { column, path, toJsonb, computedOn } = field;
  const row = computedOn === null ? qualifier : sql`(${renderRow(computedOn, qualifier)})`;
  const value = sql`${row}.${ident(column)}`;
  return renderPath(toJsonb ? sql`pg_catalog.to_jsonb(${value})` : value, path);
}

/** A value of a relation's row type. */
export function renderRow({ type, columns }: RowType, qualifier: Sql): Sql {
  const row = columns === null
    ? sql`${qualifier}.*`
    : sql`row(${join(columns.map((column) => sql`${qualifier}.${ident(column)}`))})`;
  return sql`cast(${row} as ${nameOf(type)})`;
}

/** Steps into a JSON value. Keys and indexes are parameters. */
export function renderPath(value: Sql, path: readonly PathStep[]): Sql {
  if (path.length === 0) return value;
  const steps = path.map((step) => sql`${arrows[step.arrow]}${operand(step)}`);
  return sql`${value}${join(steps, emptySql)}`;
}

const arrows: Record<PathStep["arrow"], Sql> = { "->": sql`->`, "->>": sql`->>` };

function operand({ operand }: PathStep): Sql {
  return operand.kind === "key"
    ? param(operand.key)
    : sql`cast(${param(operand.index)} as integer)`;
}

/** A cast that a client asked for, if it did. */
export function renderCast(value: Sql, type: string | null): Sql {
  return type === null ? value : sql`cast(${value} as ${typeName(type)})`;
}

/** A value passed through a function of one argument, if there is one. */
export function renderConversion(value: Sql, convert: QualifiedName | null): Sql {
  return convert === null ? value : sql`${nameOf(convert)}(${value})`;
}

/** A relation, function or type by schema and name. */
export function nameOf({ schema, name }: QualifiedName): Sql {
  return ident(schema, name);
}
