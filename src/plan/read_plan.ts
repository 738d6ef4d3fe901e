/**
 * What a request reads, from a relation or from rows that a function or a write gives: the select
 * tree with every relationship, type and window settled.
 *
 * @module
 */
import type { TargetNameUse } from "../errors/target_name_warning.ts";
import type { QueryParams, Window } from "../request/query_types.ts";
import type { QualifiedName, Relation, SchemaCache } from "../schema_cache/schema_cache.ts";
import { makeAliases } from "./aliases.ts";
import { type AggregateConfig, checkTree } from "./tree_checks.ts";
import { checkColumnCount } from "./column_limit.ts";
import { buildSelectTree, type TargetNameConfig } from "./select_tree.ts";
import { planNode } from "./plan_node.ts";
import type { Condition, ReadItem, ReadNode } from "./read_node.ts";
import { type ResolvedRoot, resolveTree } from "./resolved_tree.ts";

/** Options that reading depends on. */
export interface ReadConfig extends AggregateConfig, TargetNameConfig {
  readonly dbMaxRows: number | null;
}

/** Where the root's rows come from. */
export type ReadSource =
  | { readonly kind: "relation"; readonly relation: Relation }
  | {
    /** An item of FROM that is given when the plan is rendered. */
    readonly kind: "rows";
    /** The item's alias. */
    readonly alias: string;
    /** The relation whose row type the rows have, if any. */
    readonly relation: Relation | null;
    /** The relation or function that errors name. */
    readonly origin: QualifiedName;
  };

/**
 * What the rows are for: a `read`, the `result` of a function, or the `representation` of what a
 * write returned, whose root filters and windows belong to the write.
 */
export type ReadPurpose = "read" | "result" | "representation";

/** What is to be read. */
export interface ReadInput {
  readonly query: QueryParams;
  /** Of the root. */
  readonly window: Window;
  /** Schema of the request. */
  readonly schema: string;
  readonly source: ReadSource;
  readonly purpose: ReadPurpose;
}

/** A plan of reading. */
export interface ReadPlan {
  readonly root: ReadNode;
  /** The relation whose rows the root has, if it is columns. */
  readonly relation: Relation | null;
  /** Aliased embeds that were addressed by their target's name, which is deprecated. */
  readonly targetNameUses: readonly TargetNameUse[];
}

/**
 * Plans reading. Raises, in this order: `108` for paths that are not embedded, `200` and `201` for
 * relationships, `108` and `118` for related orders, `119`, `120`, `123` and `127`; then `DatabaseError`
 * for more columns than PostgreSQL takes.
 */
export function planRead(input: ReadInput, cache: SchemaCache, config: ReadConfig): ReadPlan {
  const { source, purpose, window } = input;
  const { root, targetNameUses } = buildSelectTree(input.query, config);
  const { relation } = source;
  const origin = source.kind === "relation" ? source.relation : source.origin;
  const resolved = resolveTree(root, { relation, origin }, input.schema, cache);
  const tree = purpose === "representation" ? withoutRowFilters(resolved) : resolved;
  checkTree(tree, cache, config);
  checkColumnCount(tree);
  const alias = source.kind === "relation" ? relation!.name : source.alias;
  const node = planNode(tree, {
    alias,
    depth: 0,
    expandAll: false,
    cache,
    aliases: makeAliases(alias),
    rows: source.kind === "rows" ? purpose : null,
    ranges: purpose === "representation" ? null : { root: window, maxRows: config.dbMaxRows },
  });
  return { root: node, relation, targetNameUses };
}

/** Which rows there are was decided by the write. */
function withoutRowFilters(root: ResolvedRoot): ResolvedRoot {
  return { ...root, filters: [], logic: [] };
}

/**
 * Lists the root's columns (and functions of its rows) that the plan asks for, sorted: what RETURNING
 * has to supply. `all` where those are the relation's columns.
 */
export function neededColumns({ root, relation }: ReadPlan): readonly string[] | "all" {
  const columns = new Set(relation?.columns.map(({ name }) => name));
  const names = new Set<string>();
  for (const item of root.items) {
    for (const name of itemColumns(item, columns)) names.add(name);
  }
  for (const condition of root.conditions) addConditionColumns(condition, names);
  for (const term of root.order) if (term.kind === "field") names.add(term.field.column);
  for (const { join } of root.embeds) {
    if (join.kind === "function") columns.forEach((name) => names.add(name));
    else {(join.kind === "columns" ? join.pairs : join.parentPairs).forEach(([name]) =>
        names.add(name)
      );}
  }
  // Without such a column, `count` counts the rows that come back.
  if (!columns.has("count")) names.delete("count");
  const extra = [...names].filter((name) => !columns.has(name)).sort();
  if (columns.size === 0 || [...columns].some((name) => !names.has(name))) return [...names].sort();
  return extra.length === 0 ? "all" : [...columns, ...extra];
}

function itemColumns(item: ReadItem, columns: ReadonlySet<string>): Iterable<string> {
  switch (item.kind) {
    case "all":
      return columns;
    case "column":
      return [item.field.column];
    case "aggregate":
      return item.argument === null ? [] : [item.argument.field.column];
    default:
      return item satisfies never;
  }
}

function addConditionColumns(condition: Condition, names: Set<string>): void {
  if (condition.kind === "group") {
    for (const child of condition.children) addConditionColumns(child, names);
  } else if (condition.kind !== "embedded") {
    names.add(condition.field.column);
  }
}
