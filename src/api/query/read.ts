/** Renders the query of a read plan. A paged node picks its rows before embeds are joined, so that
 * skipped rows cost no embeds. @module */
import {
  type Embed,
  isSpread,
  type PagedNode,
  type ReadNode,
  type RowRange,
} from "../plan/read_node.ts";
import { unlimited } from "../plan/query_limits.ts";
import type { ReadPlan } from "../plan/read/read_plan.ts";
import type { QualifiedName } from "../../state/schema_cache/schema_cache.ts";
import {
  emptySql,
  ident,
  join,
  ownName,
  smallNumber,
  type Sql,
  sql,
} from "../../base/sql/fragment.ts";
import { orderTerm, renderConditionList } from "./condition.ts";
import { nameOf } from "./field.ts";
import {
  embedSource,
  joinedColumn,
  type JoinSource,
  ownRow,
  renderFromWhere,
  renderRange,
  rootSource,
} from "./from_where.ts";
import {
  arrayList,
  type ColumnNaming,
  groupClause,
  itemOutput,
  jsonFunctions,
  type JsonUse,
  orderValue,
  type Output,
  output,
  selectList,
  spreadColumn,
} from "./output.ts";
import {
  distinctRows,
  orderClause,
  type OrderedColumn,
  pageQuery,
  termKey,
} from "./picked_rows.ts";
import { renderVersion, rowColumn, versionColumn, type VersionSource } from "./row_version.ts";
import { directReader, pageReader, type RowReader } from "./row_reader.ts";

/**
 * Renders the whole query: `select … from … where … order by … limit …`. The output keys name its
 * columns; a key may occur twice. If the caller supplies the root's rows, `from` is their FROM
 * item, under the plan's alias.
 */
export function renderRows({ root }: ReadPlan, from?: Sql): Sql {
  return renderNode(root, rootSource(root, from), shownRows).query;
}

export interface VersionedRows {
  readonly version: VersionSource;
  /** The form of the row. With Citus, it is not `record`, which servers cannot exchange. */
  readonly row: "columns" | "json" | "record" | QualifiedName;
}

export function renderVersionedRows({ root }: ReadPlan, versioned: VersionedRows, from?: Sql): Sql {
  return renderNode(root, rootSource(root, from), { ...shownRows, versioned }).query;
}

interface NodeUse {
  readonly naming: ColumnNaming;
  /** Whether the outer query sorts or groups by the values. If so, they must be `jsonb`; otherwise
   * `json` is faster. */
  readonly json: JsonUse;
  /** Set if each row is rendered with its version. Default: rows have no version. */
  readonly versioned?: VersionedRows;
}

const shownRows: NodeUse = { naming: "keys", json: "shown" };

interface NodeQuery {
  readonly query: Sql;
  readonly outputs: readonly Output[];
}

function renderNode(node: ReadNode, source: JoinSource, use: NodeUse): NodeQuery {
  return node.kind === "paged" || node.kind === "cursor"
    ? renderPaged(node, source, use)
    : renderFlat(node, source, use);
}

function renderFlat(node: ReadNode, source: JoinSource, use: NodeUse): NodeQuery {
  const { naming, versioned } = use;
  const { outputs, values, rows, groups } = flatParts(node, source, use);
  const order = node.order.map((term, index) => orderTerm(values[index]!, term));
  const list = versioned === undefined
    ? selectList(outputs, naming)
    : versionedList(versioned, renderVersion(versioned.version, ident(node.alias)));
  const query = sql`select ${distinctWord(node, outputs)}${list}${rows(order)}${groups}${
    orderClause(order)
  }${renderRange(node.range)}`;
  return { query, outputs };
}

interface FlatParts {
  readonly outputs: readonly Output[];
  readonly values: readonly Sql[];
  /** Renders FROM and WHERE. `order` decides which of several equal rows `distinct` picks. */
  readonly rows: (order: readonly Sql[]) => Sql;
  readonly groups: Sql;
}

function flatParts(
  node: ReadNode,
  source: JoinSource,
  { json, versioned }: Pick<NodeUse, "json" | "versioned">,
): FlatParts {
  const reader = directReader(node, { ...existsOptions, joined: false });
  const { outputs, joins } = renderOutputs(node, reader, json);
  const values = node.order.map((term) => orderValue(term, node, reader, outputs));
  const allJoins = sql`${orderJoins(node)}${joins}${rowJoin(outputs, versioned)}`;
  const all = renderFromWhere(node, source, { ...existsOptions, joined: node.joined }, allJoins);
  const having = renderConditionList(node.having, reader.value);
  return {
    outputs,
    values,
    rows: (order) => distinctRows(node, reader, order, all),
    groups: sql`${node.kind === "grouped" ? groupClause(outputs) : emptySql}${
      havingClause(having)
    }`,
  };
}

function distinctWord({ distinct }: ReadNode, outputs: readonly Output[]): Sql {
  return distinct === "all" && outputs.length > 0 ? sql`distinct ` : emptySql;
}

/** Renders a paged node. The outer query repeats the order; in most cases, this needs no second sort. */
function renderPaged(node: PagedNode, source: JoinSource, use: NodeUse): NodeQuery {
  const { naming, versioned } = use;
  const parts = pagedParts(node, source, { ...use, range: node.range });
  const { picked, outputs, joins, order, version } = parts;
  const alias = ident(node.alias);
  const list = versioned === undefined
    ? selectList(outputs, naming)
    : versionedList(versioned, sql`${alias}.${version!}`);
  const query = sql`select ${list} from (${picked}) as ${alias}${joins}${
    orderClause(order.map(({ name, term }) => orderTerm(sql`${alias}.${name}`, term)))
  }${repeatLimit(node)}`;
  return { query, outputs };
}

export interface PagedParts {
  readonly picked: Sql;
  readonly outputs: readonly Output[];
  readonly joins: Sql;
  readonly order: readonly Omit<OrderedColumn, "value">[];
  /** Column with the version of the picked rows, or null. */
  readonly version: Sql | null;
}

export function pagedParts(
  node: PagedNode,
  source: JoinSource,
  { json, range, versioned, isDivided = false }: Pick<NodeUse, "json" | "versioned"> & {
    readonly range: RowRange;
    /** See `PickedRows`. */
    readonly isDivided?: boolean;
  },
): PagedParts {
  const reader = directReader(node, { ...existsOptions, joined: false });
  const page = pageReader(node, reader);
  const alias = ident(node.alias);
  const { outputs, joins } = renderOutputs(node, page, json);
  const order = node.order.map((term): OrderedColumn => {
    const value = orderValue(term, node, reader, outputs);
    return { term, value, name: ident(page.column(termKey(term), () => value)) };
  });
  const version = versioned === undefined
    ? null
    : ident(page.column("version", () => renderVersion(versioned.version, alias)));
  const rows = (conditions: readonly Sql[]) =>
    renderFromWhere(
      node,
      { ...source, conditions: [...source.conditions, ...conditions] },
      { ...existsOptions, joined: false },
      orderJoins(node),
    );
  const picked = pageQuery(node, { page, reader, rows, order, range, isDivided });
  return { picked, outputs, joins: sql`${joins}${rowJoin(outputs, versioned)}`, order, version };
}

function versionedList({ row }: VersionedRows, version: Sql): Sql {
  const versioned = sql`${version} as ${versionColumn}`;
  switch (row) {
    case "columns":
      return sql`${rowColumn}.*, ${versioned}`;
    case "json":
      return sql`${versioned}, pg_catalog.row_to_json(${rowColumn}.*) as ${rowColumn}`;
    case "record":
      return sql`${versioned}, ${rowColumn} as ${rowColumn}`;
    default:
      return sql`${versioned}, ${rowColumn}.*::${nameOf(row)} as ${rowColumn}`;
  }
}

/** Renders a lateral join. Its alias is the row without the column of its version. */
function rowJoin(outputs: readonly Output[], versioned: VersionedRows | undefined): Sql {
  if (versioned === undefined) return emptySql;
  return sql` cross join lateral (select ${selectList(outputs, "keys")}) as ${rowColumn}`;
}

function havingClause(conditions: readonly Sql[]): Sql {
  return conditions.length === 0 ? emptySql : sql` having ${join(conditions, sql` and `)}`;
}

/** Options of EXISTS tests for returned rows, to which row ranges of embeds apply. */
const existsOptions = { ranges: true, groups: renderGroups } as const;

export function renderGroups(node: ReadNode, source: JoinSource): Sql {
  const whole = { ...node, order: [], orderSources: [], range: unlimited };
  const { distinct } = node;
  if (distinct === null || distinct === "all") return renderFlat(whole, source, shownRows).query;
  const reader = directReader(node, { ...existsOptions, joined: false });
  const keys = distinct.map(reader.value);
  return sql`select distinct ${join(keys)}${
    renderFromWhere(whole, source, { ...existsOptions, joined: false })
  }`;
}

/**
 * Returns a query with one row for each matching row of the root; with groups or distinct rows, one
 * row for each row of the result. Row ranges and orders do not apply. If the caller supplies the
 * root's rows, `from` is their FROM item, under the plan's alias.
 */
export function renderCount({ root }: ReadPlan, from?: Sql): Sql {
  const source = rootSource(root, from);
  if (root.kind === "grouped" || root.having.length > 0 || root.distinct !== null) {
    return sql`select 1 from (${renderGroups(root, source)}) as ${ownName("groups")}`;
  }
  const options = { ranges: false, joined: false, groups: renderGroups };
  const rows = renderFromWhere(root, source, options);
  return sql`select 1${rows}`;
}

/** Renders the limit again, because an embed may repeat its parent. */
function repeatLimit({ embeds, range: { limit } }: ReadNode): Sql {
  const repeats = embeds.some(({ hasOutput, mayRepeat }) => hasOutput && mayRepeat);
  return repeats && limit !== null ? sql` limit ${smallNumber(limit)}` : emptySql;
}

interface Outputs {
  readonly outputs: readonly Output[];
  readonly joins: Sql;
}

function renderOutputs(node: ReadNode, reader: RowReader, json: JsonUse): Outputs {
  const isGrouped = node.kind === "grouped";
  const use = isGrouped || node.distinct === "all" ? "compared" : json;
  const embedded = node.embeds.flatMap((embed, position) => {
    if (!embed.hasOutput) return [];
    const source = embedSource(embed, reader.parent);
    if (isSpread(embed)) {
      return [
        renderSpread(embed, position, source, isOrderedBy(node, position) ? "compared" : use),
      ];
    }
    return isGrouped && node.distinct !== "all" && json === "shown"
      ? [grouped(renderEmbed(embed, source, { joined: true, json }))]
      : [renderEmbed(embed, source, { joined: node.joined, json: use })];
  });
  return {
    outputs: [
      ...node.items.map((item) => itemOutput(item, node, reader)),
      ...embedded.flatMap(({ outputs }) => outputs),
    ],
    joins: join(embedded.map(({ joins }) => joins), emptySql),
  };
}

/** Renders values that are grouped as `jsonb` and returned as the original `json`, because `jsonb`
 * has another order of keys. */
function grouped({ outputs, joins }: Outputs): Outputs {
  return {
    outputs: outputs.map((column) => ({
      ...column,
      value: sql`pg_catalog.min((${column.value})::pg_catalog.text)::pg_catalog.json`,
      groupBy: sql`(${column.value})::pg_catalog.jsonb`,
    })),
    joins,
  };
}

function isOrderedBy({ order }: ReadNode, position: number): boolean {
  return order.some((term) => term.kind === "related" && term.embed === position);
}

function renderEmbed(
  embed: Embed,
  source: JoinSource,
  { joined, json }: Pick<ReadNode, "joined"> & Pick<NodeUse, "json">,
): Outputs {
  const alias = ident(embed.node.alias);
  const { query } = renderNode(embed.node, source, shownRows);
  const { object, array } = jsonFunctions[json];
  const column = joinedColumn[embed.shape];
  const value = sql`select ${
    embed.shape === "object" ? object : array
  }(${alias}.*) as ${column} from (${query}) as ${alias}`;
  const single = embed.shape === "object" && !embed.mayRepeat ? sql`${value} limit 1` : value;
  const join = joined || embed.mayRepeat;
  const item = join ? sql`${alias}.${column}` : sql`(${single})`;
  const result = embed.shape === "array" ? sql`coalesce(${item}, '[]')` : item;
  return { outputs: [output(embed.key, result)], joins: join ? lateral(single, alias) : emptySql };
}

function renderSpread(embed: Embed, position: number, source: JoinSource, json: JsonUse): Outputs {
  const alias = ident(embed.node.alias);
  const arrayAggregated = embed.shape === "arrays";
  const { query, outputs } = renderNode(embed.node, source, {
    naming: "positions",
    json: arrayAggregated ? "shown" : json,
  });
  return {
    outputs: outputs.map((column, index) => {
      const item = sql`${alias}.${ident(spreadColumn(index))}`;
      const value = arrayAggregated ? sql`coalesce(${item}, '[]')` : item;
      const aggregate = column.aggregate && { ...column.aggregate, applied: null };
      return { ...column, value, aggregate, groupBy: null, embed: position };
    }),
    joins: lateral(
      arrayAggregated
        ? sql`select ${arrayList(outputs, alias, json)} from (${query}) as ${alias}`
        : query,
      alias,
    ),
  };
}

function lateral(query: Sql, alias: Sql): Sql {
  return sql` left join lateral (${query}) as ${alias} on true`;
}

function orderJoins(node: ReadNode): Sql {
  const joins = node.orderSources.map((source) => {
    const embed = { ...node.embeds[source.embed]!, node: source.node };
    const { query } = renderNode(source.node, embedSource(embed, ownRow(node)), {
      naming: "keys",
      json: "compared",
    });
    return lateral(query, ident(source.alias));
  });
  return join(joins, emptySql);
}
