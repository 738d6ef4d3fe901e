/**
 * Follows view columns down to the table columns that they show.
 *
 * @module
 */
import type { TargetColumn } from "./pg_node_tree.ts";

/** Table columns that a view shows: by table oid and attribute number, the names of view columns. */
export type ViewColumns = ReadonlyMap<number, ReadonlyMap<number, readonly string[]>>;

/** A view whose columns are to be followed. */
export interface TrackedView {
  readonly oid: number;
  /** Column names by attribute number; nothing at 0 and at those of dropped columns. */
  readonly columnNames: readonly (string | undefined)[];
}

/** Attribute numbers of the columns that are part of any key, by the table's oid. */
export type KeyColumns = ReadonlyMap<number, ReadonlySet<number>>;

/** What the catalogue says about views. */
export interface ViewInput {
  /** The views to follow. */
  readonly views: readonly TrackedView[];
  /** What each view, of these and others, shows. Relations that are not among them end the chain. */
  readonly rules: ReadonlyMap<number, readonly TargetColumn[]>;
  readonly keyColumns: KeyColumns;
}

/**
 * Says for each view which key columns of which tables it shows, under which names (in the view's
 * column order).
 */
export function trackViewColumns(
  { views, rules, keyColumns }: ViewInput,
): ReadonlyMap<number, ViewColumns> {
  const target = targetFinder(rules);
  return new Map(views.map((view) => {
    const byTable = new Map<number, Map<number, string[]>>();
    for (const entry of rules.get(view.oid) ?? []) {
      const name = view.columnNames[entry.position];
      const source = follow(view.oid, entry, target);
      if (name === undefined || source === undefined) continue;
      if (!keyColumns.get(source.relation)?.has(source.column)) continue;
      const columns = getOrMake(byTable, source.relation, () => new Map<number, string[]>());
      getOrMake(columns, source.column, () => []).push(name);
    }
    return [view.oid, byTable];
  }));
}

/** What a view shows in one of its columns: `computed`, or `not a view` that would be known. */
type FindTarget = (relation: number, column: number) => TargetColumn | "computed" | "not a view";

/** Indexes the columns of those views only that others are built on. */
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

/** Goes on through views until a relation that is none; undefined where a view computes the column. */
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

function getOrMake<Key, Value>(map: Map<Key, Value>, key: Key, make: () => Value): Value {
  let value = map.get(key);
  if (value === undefined) map.set(key, value = make());
  return value;
}
