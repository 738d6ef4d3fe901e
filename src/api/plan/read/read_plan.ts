/** Plans reading from a relation, or from rows that a function or a write returns. @module */
import type { Config } from "../../../state/config/options.ts";
import { errors } from "../../../base/errors/catalogue.ts";
import type { TargetNameUse } from "../../../base/errors/target_name_warning.ts";
import type { ApiRequest } from "../../request/api_request.ts";
import type { QueryParams } from "../../request/url/query_types.ts";
import type {
  QualifiedName,
  Relation,
  SchemaCache,
} from "../../../state/schema_cache/schema_cache.ts";
import { checkTree } from "./tree_checks.ts";
import { buildSelectTree } from "./select_tree.ts";
import { planNode } from "./plan_node.ts";
import { fieldsOf, fieldsOfCondition } from "../values/planned_values.ts";
import type { EmbedJoin, ReadItem, ReadRoot } from "../read_node.ts";
import { cutOf } from "./max_rows.ts";
import { checkTestCount, checkValueCount } from "../query_limits.ts";
import { makeAliases, resolveTree, type RootOrigin, type SelectNode } from "./resolved_tree.ts";
import { DatabaseError } from "../../../base/errors/service_error.ts";
import type { ValueRules } from "../values/fields.ts";

export interface ReadConfig extends
  Pick<
    Config,
    | "dbAggregatesEnabled"
    | "dbMaxRows"
    | "dbSchemas"
    | "dbUrlFunctions"
    | "dialect"
    | "urlUseLegacyTargetNames"
  > {
  /** Row limit of each embed. Default: `dbMaxRows`. */
  readonly embedMaxRows?: number;
  /** Whether results of reads contain their snapshot. Default: false. */
  readonly showsSnapshot?: boolean;
}

export interface PlanContext {
  readonly request: ApiRequest;
  readonly cache: SchemaCache;
  readonly config: ReadConfig;
}

export function valueRules({ texts }: QueryParams, config: ReadConfig): ValueRules {
  const { dbUrlFunctions, dbAggregatesEnabled } = config;
  return { texts, functions: dbUrlFunctions, aggregates: dbAggregatesEnabled };
}

type ReadSource =
  | { readonly kind: "relation"; readonly relation: Relation }
  | {
    /** A FROM item that is passed to the renderer together with the plan: the result of a
     * function, or the representation of a write, which has applied filters and ranges. */
    readonly kind: "result" | "representation";
    readonly alias: string;
    /** The relation whose row type the rows have; null if unknown. */
    readonly relation: Relation | null;
    /** The relation or function that error messages name. */
    readonly origin: QualifiedName;
    /** Columns of rows that have no relation. Default: unknown. */
    readonly columns?: readonly string[];
    /** The function that returns the rows; undefined for a write. */
    readonly routine?: QualifiedName;
  };

export interface ReadInput
  extends Pick<ApiRequest, "query" | "bounds" | "schema">, Partial<Pick<ApiRequest, "selectable">> {
  readonly source: ReadSource;
  /** Row limit of the root. Default: `dbMaxRows`. */
  readonly maxRows?: number | null;
}

export interface ReadPlan extends ReadRoot {
  /** Number of rows after which a limit truncates the root, so that one more row is read; null if the
   * root cannot be truncated. */
  readonly cutAt: number | null;
  /** Deprecated uses: embeds with an alias that parameters address by the target's name. */
  readonly targetNameUses: readonly TargetNameUse[];
  /** Whether the last metadata column of the result is its snapshot. Default: false. */
  readonly showsSnapshot?: boolean;
}

/**
 * Plans a read. Throws, in this order: `160` for clauses of reads on a write; `108` for paths that are not embedded; `172`, `200` and `201`
 * for relationships; `108` and `118` for related orders; `119`, `120`, `123` and `127`; `DatabaseError`
 * for more columns than PostgreSQL accepts; the errors of values; `173`.
 */
export function planRead(input: ReadInput, cache: SchemaCache, config: ReadConfig): ReadPlan {
  const { source, bounds, maxRows = config.dbMaxRows } = input;
  const { embedMaxRows = config.dbMaxRows } = config;
  const isWritten = source.kind === "representation";
  const [clause] = input.query.clauses;
  if (isWritten && clause !== undefined) throw errors.onlyForReading(clause.name);
  checkValueCount(input.query);
  const { root, targetNameUses } = buildSelectTree(input.query, config);
  const schemas = { current: input.schema, exposed: config.dbSchemas };
  const values = valueRules(input.query, config);
  const resolved = resolveTree(root, rootOf(source), { schemas, cache, values });
  const { relation } = resolved;
  // Filters on a representation are removed, because the write has applied them.
  const tree = isWritten ? { ...resolved, filters: [], logic: [] } : resolved;
  checkTree(tree, config);
  countColumns(tree);
  const alias = source.kind === "relation" ? relation!.name : source.alias;
  const node = planNode(tree, {
    implied: [],
    alias,
    depth: 0,
    expandAll: false,
    aliases: makeAliases(alias),
    ranges: isWritten ? null : { root: bounds, maxRows, embedMaxRows },
    selectable: input.selectable ?? null,
    source: sourceName(source),
  });
  checkTestCount(node);
  const cutAt = isWritten ? null : cutOf({ root: node, relation }, bounds, maxRows);
  const read = { root: node, relation, cutAt, targetNameUses };
  return config.showsSnapshot ? { ...read, showsSnapshot: true } : read;
}

function rootOf(source: ReadSource): RootOrigin {
  const { kind, relation } = source;
  if (kind === "relation") return { relation, origin: relation, supply: null, columns: null };
  const { origin, columns } = source;
  const names = columns === undefined ? null : new Set(columns);
  return { relation, origin, supply: kind, columns: names };
}

/** Returns the name of the root's source. Cursors contain a hash of the name. */
function sourceName(source: ReadSource): readonly string[] {
  if (source.kind === "relation") return [source.relation.schema, source.relation.name];
  const { schema, name } = source.routine ?? source.origin;
  return ["function", schema, name];
}

/** Sorted names of the columns that the root needs from RETURNING; `all` for all columns of the relation. */
export function neededColumns({ root, relation }: ReadRoot): readonly string[] | "all" {
  const columns = new Set(relation?.columns.map(({ name }) => name));
  const names = new Set<string>();
  for (const item of root.items) {
    for (const name of itemColumns(item, columns)) names.add(name);
  }
  const ofOrder = root.order.flatMap((term) => term.kind === "value" ? fieldsOf(term.value) : []);
  for (const { column } of [...root.conditions.flatMap(fieldsOfCondition), ...ofOrder]) {
    names.add(column);
  }
  for (const { join } of root.embeds) {
    for (const name of joinColumns(join, columns)) names.add(name);
  }
  // If no column has the name `count`, the item `count` is the number of returned rows.
  if (!columns.has("count")) names.delete("count");
  const extra = [...names].filter((name) => !columns.has(name)).sort();
  if (columns.size === 0 || [...columns].some((name) => !names.has(name))) return [...names].sort();
  return extra.length === 0 ? "all" : [...columns, ...extra];
}

function joinColumns(join: EmbedJoin, columns: ReadonlySet<string>): Iterable<string> {
  if (join.kind === "function") return columns;
  return (join.kind === "columns" ? join.pairs : join.parentPairs).map(([name]) => name);
}

function itemColumns(item: ReadItem, columns: ReadonlySet<string>): Iterable<string> {
  switch (item.kind) {
    case "all":
      return columns;
    case "column":
      return [item.field.column];
    case "value":
      return fieldsOf(item.value).map(({ column }) => column);
    default:
      return item satisfies never;
  }
}

/** Maximum entries of a select list: `MaxTupleAttributeNumber` of PostgreSQL. */
const maxColumns = 1664;

/**
 * Returns the minimum number of columns of a node, including columns that spreads add. Throws
 * PostgreSQL's error 54011 if a node exceeds PostgreSQL's limit. The check precedes the rendering,
 * because every ancestor repeats the columns of a spread.
 */
function countColumns({ fields, relation, children }: SelectNode): number {
  let columns = 0;
  for (const { kind } of fields) columns += kind === "all" ? relation?.columns.length ?? 1 : 1;
  for (const child of children) {
    const below = countColumns(child);
    if (child.item.kind === "spread") columns += below;
  }
  if (columns <= maxColumns) return columns;
  const message = `target lists can have at most ${maxColumns} entries`;
  throw new DatabaseError({ sqlstate: "54011", message, detail: null, hint: null });
}
