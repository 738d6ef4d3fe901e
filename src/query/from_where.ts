/**
 * Which rows a level has: its FROM and WHERE, tied to a row of its parent.
 *
 * @module
 */
import type { Embed, EmbedJoin, ReadNode, RowRange } from "../plan/read_node.ts";
import type { ColumnPair } from "../schema_cache/schema_cache.ts";
import { emptySql, ident, join, param, smallNumber, type Sql, sql } from "../sql/fragment.ts";
import { renderConditions, whereClause } from "./condition.ts";
import { nameOf, renderRow } from "./field.ts";

/** How a level's rows are reached, before its own conditions. */
export interface JoinSource {
  readonly from: Sql;
  readonly conditions: readonly Sql[];
}

/** What of a parent's row its embeds are tied to. */
export interface ParentRow {
  readonly column: (name: string) => Sql;
  readonly row: (join: Extract<EmbedJoin, { kind: "function" }>) => Sql;
}

/** The rows of the root: of its relation, or of the item of FROM that is given for it. */
export function rootSource(root: ReadNode, from?: Sql): JoinSource {
  return { from: from ?? relationItem(root), conditions: [] };
}

/** The rows of an embed that belong to a row of its parent. */
export function embedSource({ node, join: source }: Embed, parent: ParentRow): JoinSource {
  const alias = ident(node.alias);
  switch (source.kind) {
    case "columns":
      return {
        from: relationItem(node),
        conditions: source.pairs.map(([own, foreign]) =>
          sql`${alias}.${ident(foreign)} = ${parent.column(own)}`
        ),
      };
    case "junction": {
      const junction = ident(source.alias);
      const on = equalColumns(source.embedPairs, junction, alias);
      return {
        from: sql`${relationItem(node)} join ${nameOf(source.junction)} as ${junction} on ${on}`,
        conditions: source.parentPairs.map(([own, foreign]) =>
          sql`${junction}.${ident(foreign)} = ${parent.column(own)}`
        ),
      };
    }
    case "function":
      return {
        from: sql`${nameOf(source.function)}(${parent.row(source)}) as ${alias}`,
        conditions: [],
      };
    default:
      return source satisfies never;
  }
}

function equalColumns(pairs: readonly ColumnPair[], left: Sql, right: Sql): Sql {
  return join(
    pairs.map(([a, b]) => sql`${left}.${ident(a)} = ${right}.${ident(b)}`),
    sql` and `,
  );
}

function relationItem({ relation, alias }: ReadNode): Sql {
  if (relation === null) throw new TypeError("a level without relation needs an item of FROM");
  return relation.name === alias ? nameOf(relation) : sql`${nameOf(relation)} as ${ident(alias)}`;
}

/** A level's own row as its parent row, addressed by its alias. */
export function ownRow(node: ReadNode): ParentRow {
  const alias = ident(node.alias);
  return {
    column: (name) => sql`${alias}.${ident(name)}`,
    row: ({ parentRow }) => renderRow(parentRow, alias),
  };
}

/** How a level's embeds are tested for rows. */
export interface ExistsOptions {
  /** Windows that the request set for embeds count. */
  readonly ranges: boolean;
  /** What the level joins is tested in place of what it would join. */
  readonly joined: boolean;
}

/** The column that an embed which is joined to its parent shows itself in. */
export const joinedColumn = {
  object: sql`object`,
  array: sql`array_of_rows`,
  spread: sql`present`,
  arrays: sql`present`,
} as const;

/** A level's rows as ` from … where …`; `joins` are further items of FROM. */
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
  // OFFSET keeps the planner from putting the test back into every place that asks.
  const presence = shared.map((embed) =>
    sql` cross join lateral (select ${inPlace(embed)} as present offset 0) as ${
      ident(embed.existsAlias!)
    }`
  );
  const where = [
    ...source.conditions,
    ...renderConditions(node.conditions, ident(node.alias), test),
    ...node.embeds.flatMap(({ inner }, position) => inner ? [test(position)] : []),
  ];
  return sql` from ${source.from}${joins}${join(presence, emptySql)}${whereClause(where)}`;
}

/** Aggregates give a row also where there are none. */
function isTestable({ hasOutput, node }: Embed): boolean {
  return hasOutput && !node.grouped;
}

function existsTest(embed: Embed, parent: ParentRow, { ranges }: ExistsOptions): Sql {
  const { node } = embed;
  const rows = renderFromWhere(node, embedSource(embed, parent), { ranges, joined: false });
  const range = ranges && node.range.isRequested ? renderRange(node.range) : emptySql;
  return sql`exists (select 1${rows}${range})`;
}

/** ` limit … offset …`; nothing for all rows. */
export function renderRange({ limit, offset }: RowRange): Sql {
  return sql`${limit === null ? emptySql : sql` limit ${smallNumber(limit)}`}${
    offset === null ? emptySql : sql` offset ${param(offset)}`
  }`;
}
