/** Traces view columns to the table columns that they show. @module */
import { getOrMake } from "../lib/group_by.ts";
import { mapSliced, type SlicedWork } from "../lib/slices.ts";
import type { TargetColumn } from "./pg_node_tree.ts";

/** Names of view columns that show a table column, by table's oid and attribute number. */
export type ViewColumns = ReadonlyMap<number, ReadonlyMap<number, readonly string[]>>;

export interface TrackedView {
  readonly oid: number;
  /** Column names by attribute number; undefined at 0 and at dropped columns. */
  readonly columnNames: readonly (string | undefined)[];
}

/** Attribute numbers of all key columns, by the table's oid. */
export type KeyColumns = ReadonlyMap<number, ReadonlySet<number>>;

interface ViewInput {
  readonly views: readonly TrackedView[];
  /** The columns that each view shows, also of views that are not traced. */
  readonly rules: ReadonlyMap<number, readonly TargetColumn[]>;
  readonly keyColumns: KeyColumns;
}

/** Returns the table key columns that each view shows, with their names in its order. */
export function* trackViewColumns(
  { views, rules, keyColumns }: ViewInput,
): SlicedWork<ReadonlyMap<number, ViewColumns>> {
  const target = targetFinder(rules);
  const tracked = yield* mapSliced(views, (view) => {
    const byTable = new Map<number, Map<number, string[]>>();
    for (const entry of rules.get(view.oid) ?? []) {
      const name = view.columnNames[entry.position];
      const source = follow(view.oid, entry, target);
      if (name === undefined || source === undefined) continue;
      if (!keyColumns.get(source.relation)?.has(source.column)) continue;
      const columns = getOrMake(byTable, source.relation, () => new Map<number, string[]>());
      getOrMake(columns, source.column, () => []).push(name);
    }
    return [view.oid, byTable] as const;
  });
  return new Map(tracked);
}

/** The target of a view column: `computed` for an expression, `not a view` for others. */
type FindTarget = (relation: number, column: number) => TargetColumn | "computed" | "not a view";

/** Indexes the columns of views on first use, so only views that others read are indexed. */
function targetFinder(rules: ReadonlyMap<number, readonly TargetColumn[]>): FindTarget {
  const indexes = new Map<number, ReadonlyMap<number, TargetColumn>>();
  return (relation, column) => {
    const entries = rules.get(relation);
    if (entries === undefined) return "not a view";
    const index = getOrMake(
      indexes,
      relation,
      () => new Map(entries.map((entry) => [entry.position, entry])),
    );
    return index.get(column) ?? "computed";
  };
}

/** Returns the column of a relation; undefined when a view computes it, and for a cycle. */
function follow(view: number, start: TargetColumn, find: FindTarget): TargetColumn | undefined {
  const seen = new Set([view]);
  let at = start;
  while (!seen.has(at.relation)) {
    seen.add(at.relation);
    const next = find(at.relation, at.column);
    if (next === "not a view") return at;
    if (next === "computed") return undefined;
    at = next;
  }
  return undefined;
}
