/** Traces view columns to the table columns whose values they contain. @module */
import { getOrMake } from "../../base/lib/group_by.ts";
import { mapSliced, type SlicedWork } from "../../base/lib/slices.ts";

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
  /** The columns of each view, also of views that are not traced. */
  readonly rules: ReadonlyMap<number, readonly TargetColumn[]>;
  readonly keyColumns: KeyColumns;
}

/** For each view, returns the key columns of tables that it shows, and their names in its order. */
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

/** Returns what a view column shows; `computed` for an expression, `not a view` for a table. */
type FindTarget = (relation: number, column: number) => TargetColumn | "computed" | "not a view";

/** Indexes view columns at first use, so that only views that other views read are indexed. */
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

/** Follows a view column to the table column; undefined for an expression, and for a cycle. */
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

/** A view column that shows a column of a relation unchanged. */
interface TargetColumn {
  /** Attribute number of the view column. Junk entries have numbers after the view's columns. */
  readonly position: number;
  /** Oid of the relation in the query, which may be a view. */
  readonly relation: number;
  readonly column: number;
}

const tokens = /\\.|[()]|[{}]|:(?:targetList (?=\()|resno \d+|resorigtbl \d+|resorigcol \d+)/gs;

/** Bracket depths of a query and of a target entry: `({QUERY … :targetList ({TARGETENTRY …} …) …})`. */
const queryDepth = 2;
const entryDepth = 4;

/**
 * Returns the oid of a view and the view's plain columns. `rule` has the oid and the parse tree of the
 * view's rule: `pg_rewrite.ev_action`, of type `pg_node_tree`.
 *
 * `Rule = oid SP "(" Query ")"`
 *
 * PostgreSQL's `outfuncs.c` writes the tree: nodes `{TYPE :field value …}`, lists `( … )`, null
 * `<>`. A backslash escapes special characters in names, so that a name holds no space. Sub-selects
 * and common table expressions have separate target lists, deeper than the list of the outermost
 * query.
 */
export function readViewRule(rule: string): readonly [view: number, readonly TargetColumn[]] {
  const columns: TargetColumn[] = [];
  let depth = 0;
  let isInList = false;
  let position = 0;
  let relation = 0;
  for (const [token] of rule.matchAll(tokens)) {
    if (token === "{" || token === "(") depth++;
    else if (token === "}" || token === ")") {
      depth--;
      if (depth === queryDepth) isInList = false;
    } else if (token === ":targetList ") isInList ||= depth === queryDepth;
    else if (isInList && depth === entryDepth && token[0] === ":") {
      const number = Number(token.slice(token.indexOf(" ")));
      // The last of the three completes a column: PostgreSQL writes them in this order.
      if (token.startsWith(":resno")) position = number;
      else if (token.startsWith(":resorigtbl")) relation = number;
      else if (relation > 0 && number > 0) columns.push({ position, relation, column: number });
    }
  }
  return [Number.parseInt(rule, 10), columns];
}
