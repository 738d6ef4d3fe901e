/** Renders FROM and WHERE of a node, including the join to the parent's row. @module */
import { aggregateIn } from "../plan/values/planned_values.ts";
import type {
  Condition,
  Embed,
  EmbedJoin,
  FieldCondition,
  PlannedField,
  PlannedValue,
  ReadNode,
  RowRange,
} from "../plan/read_node.ts";
import type { ColumnPair } from "../../state/schema_cache/schema_cache.ts";
import {
  emptySql,
  ident,
  join,
  ownName,
  param,
  smallNumber,
  type Sql,
  sql,
} from "../../base/sql/fragment.ts";
import {
  type EmbedTests,
  type RelatedCondition,
  renderConditionList,
  rowSource,
  whereClause,
} from "./condition.ts";
import { nameOf, renderField, renderRow } from "./field.ts";
import { type RelatedValue, renderValue, type ValueSource } from "./value.ts";

export interface JoinSource {
  readonly from: Sql;
  readonly conditions: readonly Sql[];
}

export interface ParentRow {
  readonly column: (name: string) => Sql;
  readonly row: (join: Extract<EmbedJoin, { kind: "function" }>) => Sql;
}

export function rootSource(root: ReadNode, from?: Sql): JoinSource {
  return { from: from ?? relationItem(root), conditions: [] };
}

export function embedSource({ node, join: embedJoin }: Embed, parent: ParentRow): JoinSource {
  const alias = ident(node.alias);
  switch (embedJoin.kind) {
    case "columns":
      return {
        from: relationItem(node),
        conditions: embedJoin.pairs.map(([column, foreign]) =>
          sql`${alias}.${ident(foreign)} = ${parent.column(column)}`
        ),
      };
    case "junction": {
      const junction = ident(embedJoin.alias);
      const on = equalColumns(embedJoin.embedPairs, junction, alias);
      return {
        from: sql`${relationItem(node)} join ${nameOf(embedJoin.junction)} as ${junction} on ${on}`,
        conditions: embedJoin.parentPairs.map(([column, foreign]) =>
          sql`${junction}.${ident(foreign)} = ${parent.column(column)}`
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
  return join(pairs.map(([a, b]) => sql`${left}.${ident(a)} = ${right}.${ident(b)}`), sql` and `);
}

function relationItem({ relation, alias }: ReadNode): Sql {
  if (relation === null) {
    throw new TypeError("cannot render a node: it has neither a relation nor a FROM item");
  }
  return relation.name === alias ? nameOf(relation) : sql`${nameOf(relation)} as ${ident(alias)}`;
}

/** Returns the row of a node, under its alias, as the parent row of its embeds. */
export function ownRow(node: ReadNode): ParentRow {
  const alias = ident(node.alias);
  return {
    column: (name) => sql`${alias}.${ident(name)}`,
    row: ({ parentRow }) => renderRow(parentRow, alias),
  };
}

export interface ExistsOptions {
  readonly ranges: boolean;
  readonly joined: boolean;
  /** Renders the rows of an embed that has conditions on groups, or distinct rows. */
  readonly groups: (node: ReadNode, source: JoinSource) => Sql;
}

/** Column of a joined embed that is NULL if the embed has no rows. */
export const joinedColumn = {
  object: sql`object`,
  array: sql`array_of_rows`,
  spread: sql`present`,
  arrays: sql`present`,
} as const;

interface TestPlace {
  readonly outer: ValueSource;
  /** For `all`: conditions of which a tested row fails at least one. */
  readonly failing: readonly Condition[];
}

/** Renders FROM and WHERE. `joins` are further FROM items. `place` is set if a condition or a value
 * of the parent reads the rows. */
export function renderFromWhere(
  node: ReadNode,
  source: JoinSource,
  options: ExistsOptions,
  joins: Sql = emptySql,
  place: TestPlace | null = null,
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
    ...renderOwnConditions(node, { options, test, place }),
    ...node.embeds.flatMap(({ inner }, position) => inner ? [test(position)] : []),
  ];
  return sql` from ${source.from}${joins}${join(existsJoins, emptySql)}${whereClause(where)}`;
}

function renderOwnConditions(
  node: ReadNode,
  { options, test, place }: {
    readonly options: ExistsOptions;
    readonly test: EmbedTests["exists"];
    readonly place: TestPlace | null;
  },
): readonly Sql[] {
  const failing = place?.failing ?? [];
  if (node.conditions.length === 0 && failing.length === 0) return [];
  const alias = ident(node.alias);
  const field = (field: PlannedField) => renderField(field, alias);
  const source = nodeSource(node, { field, options, outer: place?.outer ?? null });
  const tests: EmbedTests = {
    exists: test,
    related: (condition) => relatedTest(node, condition, { source, options }),
    count: (condition) => countTest(node, condition, { source, options }),
  };
  const render = (value: PlannedValue) => renderValue(value, source);
  const held = renderConditionList(node.conditions, render, tests);
  if (failing.length === 0) return held;
  // The parentheses are needed, because IS binds more tightly than NOT and DISTINCT FROM.
  const all = join(renderConditionList(failing, render, tests), sql` and `);
  return [...held, sql`(${all}) is not true`];
}

export function nodeSource(
  node: ReadNode,
  { field, options, outer }: {
    readonly field: ValueSource["field"];
    readonly options: ExistsOptions;
    readonly outer: ValueSource | null;
  },
): ValueSource {
  const source: ValueSource = rowSource(field, ident(node.alias), {
    related: (value) => relatedValue(node, value, { source, options }),
    outer,
  });
  return source;
}

interface RelatedSource {
  readonly source: ValueSource;
  readonly options: ExistsOptions;
}

/** Renders the rows of an embed for a test. Orders, ranges and groups do not apply. */
function testedRows(
  node: ReadNode,
  { embed: position, conditions = [], failing = [] }: {
    readonly embed: number;
    readonly conditions?: readonly Condition[];
    readonly failing?: readonly Condition[];
  },
  { source, options }: RelatedSource,
): Sql {
  const embed = node.embeds[position]!;
  const rows = { ...embed.node, conditions: [...embed.node.conditions, ...conditions] };
  const whole = { ...options, ranges: false, joined: false };
  const place = { outer: source, failing };
  return renderFromWhere(rows, embedSource(embed, ownRow(node)), whole, emptySql, place);
}

function relatedTest(
  node: ReadNode,
  { embed, quantifier, conditions }: RelatedCondition,
  place: RelatedSource,
): Sql {
  const tested = quantifier === "all" ? { embed, failing: conditions } : { embed, conditions };
  const exists = sql`exists (select 1${testedRows(node, tested, place)})`;
  return quantifier === "any" ? exists : sql`not ${exists}`;
}

function relatedValue(node: ReadNode, { embed, value }: RelatedValue, place: RelatedSource): Sql {
  const child = node.embeds[embed]!.node;
  const alias = ident(child.alias);
  const source = nodeSource(child, {
    field: (field) => renderField(field, alias),
    options: place.options,
    outer: place.source,
  });
  const single = aggregateIn(value) !== null ? emptySql : sql` limit 1`;
  return sql`(select ${renderValue(value, source)}${testedRows(node, { embed }, place)}${single})`;
}

/** Renders a comparison that counts no more rows than it needs; null if it needs all rows. */
function countTest(node: ReadNode, condition: FieldCondition, place: RelatedSource): Sql | null {
  if (condition.kind !== "compare" || condition.quantifier !== null) return null;
  const { field, operator } = condition;
  const isLower = operator === "gt" || operator === "gte";
  if (!isLower || field.kind !== "related" || !isRowCount(field.value)) {
    return null;
  }
  const least = param(condition.value);
  // The bounds keep PostgreSQL from refusing a limit that is negative or too large.
  const enough = sql`greatest(0, least(cast(${least} as bigint), 9223372036854775806)) + 1`;
  const rows = sql`select 1${testedRows(node, { embed: field.embed }, place)} limit ${enough}`;
  const comparison = operator === "gt" ? sql`>` : sql`>=`;
  return sql`(select pg_catalog.count(*) from (${rows}) as ${
    ownName("counted")
  }) ${comparison} ${least}`;
}

function isRowCount(value: PlannedValue): boolean {
  return value.kind === "aggregate" && value.function === "count" && value.argument === null;
}

/** Returns whether a join can test for rows. A join cannot test an aggregate, which always returns a row. */
function isTestable({ hasOutput, node }: Embed): boolean {
  return hasOutput && node.kind !== "grouped";
}

function existsTest(embed: Embed, parent: ParentRow, options: ExistsOptions): Sql {
  const { node } = embed;
  const { ranges, groups } = options;
  const source = embedSource(embed, parent);
  const range = ranges && node.range.isRequested ? renderRange(node.range) : emptySql;
  if (node.having.length > 0 || node.distinct !== null) {
    return sql`exists (select 1 from (${groups(node, source)}) as ${ownName("groups")}${range})`;
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
