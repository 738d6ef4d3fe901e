/**
 * Renders FROM and WHERE of a node, with the join to a row of its parent.
 *
 * @module
 */
import type { Embed, EmbedJoin, ReadNode, RowRange } from "../plan/read_node.ts";
import type { ColumnPair } from "../schema_cache/schema_cache.ts";
import { emptySql, ident, join, param, smallNumber, type Sql, sql } from "../sql/fragment.ts";
import { renderConditions, whereClause } from "./condition.ts";
import { nameOf, renderRow } from "./field.ts";

/** The FROM item of a node, and the conditions that join it to its parent. */
export interface JoinSource {
  readonly from: Sql;
  readonly conditions: readonly Sql[];
}

/** Values of a parent's row that its embeds join to. */
export interface ParentRow {
  readonly column: (name: string) => Sql;
  readonly row: (join: Extract<EmbedJoin, { kind: "function" }>) => Sql;
}

/** Returns the source of the root: its relation, or the FROM item that the caller supplies. */
export function rootSource(root: ReadNode, from?: Sql): JoinSource {
  return { from: from ?? relationItem(root), conditions: [] };
}

/** Returns the source of an embed, joined to a row of its parent. */
export function embedSource({ node, join: embedJoin }: Embed, parent: ParentRow): JoinSource {
  const alias = ident(node.alias);
  switch (embedJoin.kind) {
    case "columns":
      return {
        from: relationItem(node),
        conditions: embedJoin.pairs.map(([own, foreign]) =>
          sql`${alias}.${ident(foreign)} = ${parent.column(own)}`
        ),
      };
    case "junction": {
      const junction = ident(embedJoin.alias);
      const on = equalColumns(embedJoin.embedPairs, junction, alias);
      return {
        from: sql`${relationItem(node)} join ${nameOf(embedJoin.junction)} as ${junction} on ${on}`,
        conditions: embedJoin.parentPairs.map(([own, foreign]) =>
          sql`${junction}.${ident(foreign)} = ${parent.column(own)}`
        ),
      };
    }
    case "function":
      return {
        from: sql`${nameOf(embedJoin.function)}(${parent.row(embedJoin)}) as ${alias}`,
        conditions: [],
      };
    default:
      return embedJoin satisfies never;
  }
}

function equalColumns(pairs: readonly ColumnPair[], left: Sql, right: Sql): Sql {
  return join(
    pairs.map(([a, b]) => sql`${left}.${ident(a)} = ${right}.${ident(b)}`),
    sql` and `,
  );
}

function relationItem({ relation, alias }: ReadNode): Sql {
  if (relation === null) {
    throw new TypeError("cannot render a node: it has neither a relation nor a FROM item");
  }
  return relation.name === alias ? nameOf(relation) : sql`${nameOf(relation)} as ${ident(alias)}`;
}

/** Returns the row of a node as the parent row of its embeds. The node's alias addresses it. */
export function ownRow(node: ReadNode): ParentRow {
  const alias = ident(node.alias);
  return {
    column: (name) => sql`${alias}.${ident(name)}`,
    row: ({ parentRow }) => renderRow(parentRow, alias),
  };
}

/** Options of the EXISTS tests of a node's embeds. */
export interface ExistsOptions {
  /** True to apply the row ranges that the request sets for embeds. */
  readonly ranges: boolean;
  /** True to test the column of a joined embed, without a separate EXISTS. */
  readonly joined: boolean;
  /** Renders the rows of an embed with conditions on its groups, or with distinct rows. */
  readonly groups: (node: ReadNode, source: JoinSource) => Sql;
}

/** The column of a joined embed that is not NULL when the embed has rows. */
export const joinedColumn = {
  object: sql`object`,
  array: sql`array_of_rows`,
  spread: sql`present`,
  arrays: sql`present`,
} as const;

/** Renders a node as ` from … where …`. `joins` are further FROM items. */
export function renderFromWhere(
  node: ReadNode,
  source: JoinSource,
  options: ExistsOptions,
  joins: Sql = emptySql,
): Sql {
  const inPlace = (embed: Embed) => existsTest(embed, ownRow(node), options);
  const test = (position: number) => {
    const embed = node.embeds[position]!;
    if (options.joined && isTestable(embed)) {
      return sql`${ident(embed.node.alias)}.${joinedColumn[embed.shape]} is not null`;
    }
    return embed.existsAlias === null ? inPlace(embed) : sql`${ident(embed.existsAlias)}.present`;
  };
  const shared = node.embeds.filter((embed) =>
    embed.existsAlias !== null && !(options.joined && isTestable(embed))
  );
  // OFFSET 0 keeps the planner from inlining the subquery, so PostgreSQL runs the test once.
  const existsJoins = shared.map((embed) =>
    sql` cross join lateral (select ${inPlace(embed)} as present offset 0) as ${
      ident(embed.existsAlias!)
    }`
  );
  const where = [
    ...source.conditions,
    ...renderConditions(node.conditions, ident(node.alias), test),
    ...node.embeds.flatMap(({ inner }, position) => inner ? [test(position)] : []),
  ];
  return sql` from ${source.from}${joins}${join(existsJoins, emptySql)}${whereClause(where)}`;
}

/**
 * Returns true if a join shows whether the embed has rows. An aggregate returns a row even without
 * input rows.
 */
function isTestable({ hasOutput, node }: Embed): boolean {
  return hasOutput && !node.grouped;
}

function existsTest(embed: Embed, parent: ParentRow, options: ExistsOptions): Sql {
  const { node } = embed;
  const { ranges, groups } = options;
  const source = embedSource(embed, parent);
  const range = ranges && node.range.isRequested ? renderRange(node.range) : emptySql;
  if (node.having.length > 0 || node.distinct !== null) {
    return sql`exists (select 1 from (${groups(node, source)}) as svc_groups${range})`;
  }
  const rows = renderFromWhere(node, source, { ...options, joined: false });
  return sql`exists (select 1${rows}${range})`;
}

/** Renders ` limit … offset …`; empty for all rows. */
export function renderRange({ limit, offset }: RowRange): Sql {
  return sql`${limit === null ? emptySql : sql` limit ${smallNumber(limit)}`}${
    offset === null ? emptySql : sql` offset ${param(offset)}`
  }`;
}
