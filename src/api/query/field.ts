/** Renders columns, JSON paths, casts and functions. @module */
import type { PlannedField, RowType } from "../plan/read_node.ts";
import type { QualifiedName } from "../../state/schema_cache/schema_cache.ts";
import { mergeActionColumn } from "../plan/write/merge_action.ts";
import {
  emptySql,
  ident,
  join,
  ownName,
  param,
  type Sql,
  sql,
  typeName,
} from "../../base/sql/fragment.ts";
import type { PathStep } from "../request/url/value_types.ts";

/** Renders a field. Columns are qualified, because `t."f"` can also call the function `f` with a row of `t`. */
export function renderField(field: PlannedField, qualifier: Sql): Sql {
  const { column, path, toJsonb, computedOn } = field;
  const row = computedOn === null ? qualifier : sql`(${renderRow(computedOn, qualifier)})`;
  const value = sql`${row}.${columnName(column)}`;
  return renderPath(toJsonb ? sql`pg_catalog.to_jsonb(${value})` : value, path);
}

/** Renders the name of a column of written rows, which may be the name of `merge_action()`. */
export function columnName(name: string): Sql {
  return name === mergeActionColumn ? ownName("merge_action") : ident(name);
}

export function renderRow({ type, columns }: RowType, qualifier: Sql): Sql {
  const row = columns === null
    ? sql`${qualifier}.*`
    : sql`row(${join(columns.map((column) => sql`${qualifier}.${ident(column)}`))})`;
  return sql`cast(${row} as ${nameOf(type)})`;
}

/** Renders the steps into a JSON value. Keys and indexes are parameters. */
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

/** Renders the cast that the request contains; null means no cast. */
export function renderCast(value: Sql, type: string | null): Sql {
  return type === null ? value : sql`cast(${value} as ${typeName(type)})`;
}

/** Renders the call of a conversion function with the value; null means no conversion. */
export function renderConversion(value: Sql, convert: QualifiedName | null): Sql {
  return convert === null ? value : sql`${nameOf(convert)}(${value})`;
}

export function nameOf({ schema, name }: QualifiedName): Sql {
  return ident(schema, name);
}
