/** First pass: builds the levels of the select list, with the parameters of each. @module */
import type { Config } from "../../../state/config/options.ts";
import { errors } from "../../../base/errors/catalogue.ts";
import type { ServiceError } from "../../../base/errors/service_error.ts";
import { getOrMake } from "../../../base/lib/group_by.ts";
import type { TargetNameUse } from "../../../base/errors/target_name_warning.ts";
import type {
  AtLevel,
  Clause,
  EmbedItem,
  EmbedTest,
  FieldItem,
  Filter,
  LogicGroup,
  LogicTree,
  OrderTerm,
  QueryParams,
  SelectItem,
} from "../../request/url/query_types.ts";
import { isAggregateItem, isKeyed } from "../level_names.ts";
import type { Field } from "../../request/url/value_types.ts";

/** A level of the select list, and the parameters that address it. */
export interface SelectLevel {
  /** The select item that embeds the level; null for the root. */
  readonly item: EmbedItem | null;
  readonly fields: readonly FieldItem[];
  readonly leftOut: readonly LeftOutColumn[];
  readonly children: readonly SelectLevel[];
  readonly filters: Filter[];
  readonly logic: (LogicGroup | EmbedTest)[];
  readonly having: LogicGroup[];
  /** Conditions on the rows of an aggregate, by its alias. */
  readonly aggregateFilters: Map<string, LogicTree[]>;
  /** Fields or keys by which rows are distinct; `all` means whole rows. */
  distinct: readonly Field[] | "all" | null;
  readonly order: OrderTerm[];
  limit: bigint | null;
  offset: bigint | null;
  /** The cursor before the first row, empty for the first page; null if not requested. */
  after: string | null;
  /** The cursor after the last row, empty for the last page; null if not requested. */
  before: string | null;
  /** Whether a parameter addresses an embed with an alias by the name of the target. */
  usesTargetName: boolean;
}

interface LeftOutColumn {
  readonly column: string;
  /** Whether `*` or `**` precedes `-column` in the list. */
  readonly followsAll: boolean;
}

interface SelectTree {
  readonly root: SelectLevel;
  /** Embeds that a parameter addresses by the name of the target, parents before children. */
  readonly targetNameUses: readonly TargetNameUse[];
}

/** Whether names of targets can address embeds with an alias. */
type TargetNameConfig = Pick<Config, "urlUseLegacyTargetNames">;

/** Builds the tree. Throws `108` for a path without an embed. Checks filters first, then orders,
 * limits and groups, each from last to first. */
export function buildSelectTree(query: QueryParams, config: TargetNameConfig): SelectTree {
  const root = levelOf(null, query.select.length === 0 ? [{ kind: "all" }] : query.select);
  const attach = <T>(
    entries: readonly AtLevel<T>[],
    to: (level: SelectLevel, value: T) => void,
    toAggregate?: (trees: LogicTree[], value: T) => void,
    names: readonly string[] = [],
  ) => {
    const places = new Array<LevelPlace>(entries.length);
    for (let index = entries.length - 1; index >= 0; index--) {
      places[index] = findPlace(root, entries[index]!.path, {
        ...config,
        takesAggregates: toAggregate !== undefined,
        parameter: names[index] ?? "",
      });
    }
    entries.forEach(({ value }, index) => {
      const { level, aggregate } = places[index]!;
      if (aggregate === null) to(level, value);
      else toAggregate!(getOrMake(level.aggregateFilters, aggregate, () => []), value);
    });
  };
  const toTrees = (trees: LogicTree[], tree: LogicTree) => trees.push(tree);
  attach(
    query.filters,
    (level, filter) => level.filters.push(filter),
    toTrees,
    query.filterNames,
  );
  attach(query.order, (level, terms) => {
    if (level.order.length === 0) level.order.push(...terms);
  });
  attach(query.limits, (level, { limit, offset }) => {
    level.limit = limit ?? level.limit;
    level.offset = offset ?? level.offset;
  });
  attach(query.logic, (level, group) => level.logic.push(group), toTrees);
  attach(query.clauses, attachClause);
  return { root, targetNameUses: targetNameUsesOf(root) };
}

function attachClause(level: SelectLevel, clause: Clause): void {
  switch (clause.kind) {
    case "having":
      level.having.push(clause.group);
      break;
    case "embedTest":
      level.logic.push(clause.test);
      break;
    case "distinct":
      level.distinct ??= clause.fields;
      break;
    case "page":
      level[clause.direction] = clause.cursor;
      break;
    default:
      clause satisfies never;
  }
}

export function addressOf(item: EmbedItem): string {
  return (item.kind === "relation" ? item.alias : null) ?? item.target;
}

function levelOf(item: EmbedItem | null, select: readonly SelectItem[]): SelectLevel {
  const fields: FieldItem[] = [];
  const leftOut: LeftOutColumn[] = [];
  const children: SelectLevel[] = [];
  for (const entry of select) {
    if (isEmbed(entry)) children.push(levelOf(entry, entry.select));
    else if (entry.kind === "leftOut") {
      const followsAll = fields.some(({ kind }) => kind === "all");
      leftOut.push({ column: entry.column, followsAll });
    } else fields.push(entry);
  }
  return {
    item,
    fields,
    leftOut,
    children,
    filters: [],
    logic: [],
    having: [],
    aggregateFilters: new Map(),
    distinct: null,
    order: [],
    limit: null,
    offset: null,
    after: null,
    before: null,
    usesTargetName: false,
  };
}

function isEmbed(item: SelectItem): item is EmbedItem {
  return item.kind === "relation" || item.kind === "spread";
}

interface LevelPlace {
  readonly level: SelectLevel;
  /** Alias of the addressed aggregate; null for the level itself. */
  readonly aggregate: string | null;
}

interface PathConfig extends TargetNameConfig {
  readonly takesAggregates: boolean;
  /** Name of the parameter that has the path; empty for a filter. */
  readonly parameter: string;
}

function findPlace(root: SelectLevel, path: readonly string[], config: PathConfig): LevelPlace {
  let level = root;
  for (const [index, name] of path.entries()) {
    const isLast = index === path.length - 1;
    const child = childOf(level, name, config);
    if (child === undefined && isLast && config.takesAggregates && hasAggregate(level, name)) {
      return { level, aggregate: name };
    }
    if (child === undefined) throw notEmbedded(level, name, config.parameter);
    level = child;
    if (addressOf(level.item!) !== name) level.usesTargetName = true;
  }
  return { level, aggregate: null };
}

/** Returns whether a level has aggregates. Aggregates of a spread belong to its parent. */
function hasAggregate({ item, fields }: SelectLevel, alias: string): boolean {
  return item?.kind !== "spread" &&
    fields.some((item) => isKeyed(item) && item.alias === alias && isAggregateItem(item));
}

function targetNameUsesOf(root: SelectLevel): readonly TargetNameUse[] {
  const uses: TargetNameUse[] = [];
  const stack = [root];
  while (stack.length > 0) {
    const { item, usesTargetName, children } = stack.pop()!;
    if (usesTargetName) uses.push([item!.target, addressOf(item!)]);
    stack.push(...children.toReversed());
  }
  return uses;
}

function childOf(
  { children }: SelectLevel,
  name: string,
  { urlUseLegacyTargetNames }: TargetNameConfig,
): SelectLevel | undefined {
  return children.find(({ item }) =>
    addressOf(item!) === name || (urlUseLegacyTargetNames && item!.target === name)
  );
}

function notEmbedded({ children }: SelectLevel, name: string, parameter: string): ServiceError {
  if (parameter.includes("(")) return errors.notEmbedded(name, `Write and=(${parameter}.eq.value)`);
  const targeted = children.find(({ item }) => item!.target === name);
  return targeted === undefined
    ? errors.notEmbedded(name)
    : errors.embeddedUnderAlias(name, addressOf(targeted.item!));
}
