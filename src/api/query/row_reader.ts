/** Reads the values of a node's row from its relation or from its page. @module */
import { getOrMake } from "../../base/lib/group_by.ts";
import type { PlannedField, PlannedValue, ReadNode } from "../plan/read_node.ts";
import { ident, join, type Sql, sql } from "../../base/sql/fragment.ts";
import { renderField } from "./field.ts";
import { type ExistsOptions, nodeSource, ownRow, type ParentRow } from "./from_where.ts";
import { renderValue, type ValueSource } from "./value.ts";

export interface RowReader {
  readonly field: (field: PlannedField) => Sql;
  readonly value: (value: PlannedValue) => Sql;
  /** The source of values for aggregates in the parent node. */
  readonly source: ValueSource;
  readonly parent: ParentRow;
}

/** Returns a reader of the relation. Equal fields and values are the same fragment, so that GROUP
 * BY matches them. */
export function directReader(node: ReadNode, options: ExistsOptions): RowReader {
  const alias = ident(node.alias);
  const rendered = new Map<string, Sql>();
  const field = (field: PlannedField) =>
    getOrMake(rendered, fieldKey(field), () => renderField(field, alias));
  const source = nodeSource(node, { field, options, outer: null });
  const value = (value: PlannedValue) =>
    getOrMake(rendered, valueKey(value), () => renderValue(value, source));
  return { field, value, source, parent: ownRow(node) };
}

/** Reads values from a subquery under the node's alias. The subquery selects all values that were read. */
export interface PageReader extends RowReader {
  /** Returns the subquery's column for a value. Equal keys share a column. */
  readonly column: (key: string, value: () => Sql) => string;
  /** Returns the select list of the subquery. Must be called after all reads. */
  readonly columns: () => Sql;
}

export function pageReader(node: ReadNode, reader: RowReader): PageReader {
  const alias = ident(node.alias);
  const names = new Map<string, string>();
  const values: Sql[] = [];
  const column = (key: string, value: () => Sql) =>
    getOrMake(names, key, () => {
      const name = `c${names.size + 1}`;
      values.push(sql`${value()} as ${ident(name)}`);
      return name;
    });
  const read = (key: string, value: () => Sql) => sql`${alias}.${ident(column(key, value))}`;
  return {
    field: (field) => read(fieldKey(field), () => reader.field(field)),
    value: (value) => read(valueKey(value), () => reader.value(value)),
    source: reader.source,
    parent: {
      column: (name) => read(columnKey(name), () => reader.parent.column(name)),
      row: (join) => read(rowKey, () => reader.parent.row(join)),
    },
    column,
    columns: () => join(values),
  };
}

const rowKey = "row";

function columnKey(column: string): string {
  return `.${column}`;
}

function fieldKey({ column, path }: PlannedField): string {
  return path.length === 0 ? columnKey(column) : JSON.stringify([column, path]);
}

export function valueKey(value: PlannedValue): string {
  return value.kind === "column" ? fieldKey(value.field) : `value ${JSON.stringify(value)}`;
}
