/**
 * What a tree of levels must not ask for, in the order in which it is reported.
 *
 * @module
 */
import type { Dialect } from "../dialect.ts";
import { errors } from "../errors/catalogue.ts";
import type { Filter, LogicTree } from "../request/query_types.ts";
import type { Relation, SchemaCache } from "../schema_cache/schema_cache.ts";
import { isNullTest } from "./conditions.ts";
import { addressOf } from "./levels.ts";
import { allLevels, type AnyLevel, type EmbeddedLevel, type RootLevel } from "./related_levels.ts";
import { isToOne } from "./relationship.ts";

/** What of the configuration decides what may be asked for. */
export interface AggregateConfig {
  readonly dbAggregatesEnabled: boolean;
  readonly dialect: Pick<Dialect, "embedFilters" | "toManySpreads">;
}

/** Raises `108` and `118` of related orders, then `119`, `120`, `123` and `127`. */
export function checkLevels(root: RootLevel, cache: SchemaCache, config: AggregateConfig): void {
  const levels = [...allLevels(root)];
  levels.forEach(checkRelatedOrders);
  if (config.dialect.toManySpreads === "refused") levels.forEach(checkSpreads);
  if (config.dialect.embedFilters === "refused") {
    for (const level of levels) checkEmbedFilters(level, cache);
  }
  if (!config.dbAggregatesEnabled && levels.some(hasAggregate)) throw errors.aggregatesDisabled();
  if (levels.some((level) => spreadsMany(level) && hasSpreadAggregate(level))) {
    throw errors.aggregateInToManySpread();
  }
}

/** The embed of a level that a name addresses, if any. */
export function embedNamed(level: AnyLevel, name: string): EmbeddedLevel | undefined {
  return level.children.find(({ item }) => addressOf(item) === name);
}

/** Whether each column of a level becomes an array in the level above. */
export function spreadsMany(level: AnyLevel): boolean {
  return level.item !== null && level.item.kind === "spread" && !isToOne(level.relationship);
}

/** Whether a level has aggregates: its own, or those of to-one spreads, which belong to it. */
export function hasSpreadAggregate(level: AnyLevel): boolean {
  return hasAggregate(level) ||
    level.children.some((child) =>
      child.item.kind === "spread" && !spreadsMany(child) && hasSpreadAggregate(child)
    );
}

/** Whether a level's own select list has aggregates. */
function hasAggregate({ fields }: AnyLevel): boolean {
  return fields.some((field) =>
    field.kind === "count" || (field.kind === "field" && field.aggregate !== null)
  );
}

function checkRelatedOrders(level: AnyLevel): void {
  for (const { relation: name } of level.order) {
    if (name === null) continue;
    const embed = embedNamed(level, name);
    if (embed === undefined) throw errors.notEmbedded(name);
    if (!isToOne(embed.relationship)) throw errors.relatedOrderToMany(level.origin.name, name);
  }
}

function checkSpreads(level: AnyLevel): void {
  const refused = level.children.find(spreadsMany);
  if (refused !== undefined) throw errors.spreadToMany(level.origin.name, refused.item.target);
}

function checkEmbedFilters(level: AnyLevel, cache: SchemaCache): void {
  if (level.children.length === 0) return;
  for (const filter of filtersOf(level)) {
    const { name, path } = filter.field;
    if (path.length > 0 || isNullTest(filter)) continue;
    const embed = embedNamed(level, name);
    if (embed !== undefined && !isColumn(name, level.relation, cache)) {
      throw errors.embedOperator(embed.item.target);
    }
  }
}

function filtersOf({ filters, logic }: AnyLevel): readonly Filter[] {
  const found: Filter[] = [...filters];
  const stack: LogicTree[] = [...logic];
  while (stack.length > 0) {
    const tree = stack.pop()!;
    if (tree.kind === "filter") found.push(tree);
    else for (const child of tree.children) stack.push(child);
  }
  return found;
}

/** Columns, and what is callable with a row alone and gives one value. */
function isColumn(name: string, relation: Relation | null, cache: SchemaCache): boolean {
  if (relation === null) return false;
  if (cache.column(relation, name) !== undefined) return true;
  return cache.routines({ schema: relation.schema, name }).some(({ parameters, returns }) =>
    parameters.length === 1 && !returns.set && !returns.composite
  );
}
