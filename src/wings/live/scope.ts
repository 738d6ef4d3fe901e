/** Records of changes after which a group must run. @module */
import { isEqual } from "../../api/plan/read/max_rows.ts";
import type { ReadNode } from "../../api/plan/read_node.ts";
import { splitQuery } from "../../api/request/url/query_string.ts";

const integer = /^(?:0|-?[1-9]\d*)$/;
/** Types of scope columns, and the form in which PostgreSQL prints their values, whatever its settings are. */
export const scopeTypes = {
  int2: integer,
  int4: integer,
  int8: integer,
  uuid: /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/,
  text: /^/,
  varchar: /^/,
} as const;

/** A filter `<column>=eq.<value>` of a query. Records of rows with another value of the column cannot
 * change the query's result. */
export interface LiveScope {
  readonly column: string;
  readonly type: keyof typeof scopeTypes;
}

/** Tables by oid, with their scope; null for a table without a scope. */
export type DependentTables = ReadonlyMap<number, LiveScope | null>;

/** Tables whose records make a group run. The value is the scope of these records; null for any scope. */
export type Interest = ReadonlyMap<number, string | null>;

/** Scopes of the changed rows, by table; null for a record without a scope. */
export type ChangeRecords = ReadonlyMap<number, ReadonlySet<string | null>>;

export function concerns(interest: Interest, records: ChangeRecords): boolean {
  return Array.from(interest).some(([table, value]) => {
    const scopes = records.get(table);
    return scopes !== undefined && (value === null || scopes.has(value) || scopes.has(null));
  });
}

/** Returns the tables and scopes whose records make a query run again. `root` is the root of its plan. */
export function interestOf(tables: DependentTables, root: ReadNode, query: string): Interest {
  return new Map(Array.from(tables, ([table, scope]) => {
    const isFixed = scope !== null &&
      root.conditions.some((each) => isEqual(each, scope.column) && each.convert === null);
    return [table, isFixed ? comparedValue(query, scope) : null];
  }));
}

/** Returns the value of a filter if it has the form that PostgreSQL prints; otherwise null. Reads the
 * query string, because the plan may lack values. */
function comparedValue(query: string, { column, type }: LiveScope): string | null {
  const filters = splitQuery(query).filter(({ name }) => name === column);
  const [, value] = /^eq\.(.*)$/s.exec(filters[0]?.value ?? "") ?? [];
  return filters.length === 1 && value !== undefined && scopeTypes[type].test(value) ? value : null;
}
