/**
 * Where the values of a level's row are found: at the level's own relation, or in the page of it.
 *
 * @module
 */
import type { PlannedField, ReadNode } from "../plan/read_node.ts";
import { ident, join, type Sql, sql } from "../sql/fragment.ts";
import { renderField } from "./field.ts";
import { ownRow, type ParentRow } from "./from_where.ts";

/** Reads values of a level's row. */
export interface RowReader {
  readonly field: (field: PlannedField) => Sql;
  /** The row as that which embeds are tied to. */
  readonly parent: ParentRow;
}

/** Reads at the relation itself. The same field is the same fragment, so that groups recognise it. */
export function directReader(node: ReadNode): RowReader {
  const alias = ident(node.alias);
  const rendered = new Map<string, Sql>();
  const field = (field: PlannedField) => {
    const key = fieldKey(field);
    const value = rendered.get(key) ?? renderField(field, alias);
    rendered.set(key, value);
    return value;
  };
  return { field, parent: ownRow(node) };
}

/** Reads in a subquery under the level's alias that supplies what was asked for. */
export interface PageReader extends RowReader {
  /** Name of the subquery's column for a value; equal keys are one column. */
  readonly column: (key: string, value: () => Sql) => string;
  /** The subquery's select list: to be called last. */
  readonly columns: () => Sql;
}

/** Makes a page over what a reader gives. */
export function pageReader(node: ReadNode, own: RowReader): PageReader {
  const alias = ident(node.alias);
  const names = new Map<string, string>();
  const values: Sql[] = [];
  const column = (key: string, value: () => Sql) => {
    const existing = names.get(key);
    if (existing !== undefined) return existing;
    const name = `c${names.size + 1}`;
    names.set(key, name);
    values.push(sql`${value()} as ${ident(name)}`);
    return name;
  };
  const read = (key: string, value: () => Sql) => sql`${alias}.${ident(column(key, value))}`;
  return {
    field: (field) => read(fieldKey(field), () => own.field(field)),
    parent: {
      column: (name) => read(columnKey(name), () => own.parent.column(name)),
      row: (join) => read(rowKey, () => own.parent.row(join)),
    },
    column,
    columns: () => join(values),
  };
}

const rowKey = "row";

function columnKey(column: string): string {
  return `.${column}`;
}

/** Equal for equal fields of one level. */
export function fieldKey({ column, path }: PlannedField): string {
  return path.length === 0 ? columnKey(column) : JSON.stringify([column, path]);
}
