/** Which records of changes make a group run. @module */
import { isEqual } from "../plan/max_rows.ts";
import type { ReadNode } from "../plan/read_node.ts";
import { splitQuery } from "../request/url/query_string.ts";
import type { DependentTables, LiveScope } from "./dependencies.ts";
import type { ScopeType } from "./live_schema.ts";

/** Tables whose records make a group run, with the value of the scope that these must have; null for any. */
export type Interest = ReadonlyMap<number, string | null>;

/** Values of scopes by table; null for a record without one. */
export type ChangeRecords = ReadonlyMap<number, ReadonlySet<string | null>>;

/** Returns whether records make a group run; `excluded` if their scopes alone keep it from that. */
export function concerns(interest: Interest, records: ChangeRecords): boolean | "excluded" {
  let isExcluded = false;
  for (const [table, value] of interest) {
    const scopes = records.get(table);
    if (scopes === undefined) continue;
    if (value === null || scopes.has(value) || scopes.has(null)) return true;
    isExcluded = true;
  }
  return isExcluded && "excluded";
}

/** Returns the interest of a query with this plan of its root. */
export function interestOf(tables: DependentTables, root: ReadNode, query: string): Interest {
  return new Map(Array.from(tables, ([table, scope]) => {
    const isFixed = scope !== null &&
      root.conditions.some((each) => isEqual(each, scope.column) && each.convert === null);
    return [table, isFixed ? comparedValue(query, scope) : null];
  }));
}

/** Returns the value of a filter as PostgreSQL writes it; null if that is unknown. The plan may lack values. */
function comparedValue(query: string, { column, type }: LiveScope): string | null {
  const filters = splitQuery(query).filter(({ name }) => name === column);
  const [, value] = /^eq\.(.*)$/s.exec(filters[0]?.value ?? "") ?? [];
  return filters.length !== 1 || value === undefined ? null : writers[type](value);
}

const integer = (value: string) => /^-?\d{1,19}$/.test(value) ? String(BigInt(value)) : null;
const same = (value: string) => value;
const uuidPattern = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const uuid = (value: string) => uuidPattern.test(value) ? value.toLowerCase() : null;
const writers: Readonly<Record<ScopeType, (value: string) => string | null>> = {
  int2: integer,
  int4: integer,
  int8: integer,
  text: same,
  uuid,
  varchar: same,
};
