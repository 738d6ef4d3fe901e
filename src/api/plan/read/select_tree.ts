/** First pass: builds the tree of the select list, with the parameters of each node. @module */
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
import { isAggregateItem, isKeyed } from "./level_names.ts";
import type { Field } from "../../request/url/value_types.ts";

export interface SelectNode {
  /** The select item that embeds the node; null for the root. */
  readonly item: EmbedItem | null;
  readonly fields: readonly FieldItem[];
  readonly leftOut: readonly LeftOutColumn[];
  readonly children: readonly SelectNode[];
  readonly filters: readonly Filter[];
  readonly logic: readonly (LogicGroup | EmbedTest)[];
  readonly having: readonly LogicGroup[];
  /** Conditions on the rows of an aggregate, by its alias. */
  readonly aggregateFilters: ReadonlyMap<string, readonly LogicTree[]>;
  /** Fields or keys by which rows are distinct; `all` means whole rows. */
  readonly distinct: readonly Field[] | "all" | null;
  readonly order: readonly OrderTerm[];
  readonly limit: bigint | null;
  readonly offset: bigint | null;
  /** The cursor before the first row, empty for the first page; null if not requested. */
  readonly after: string | null;
  /** The cursor after the last row, empty for the last page; null if not requested. */
  readonly before: string | null;
}

export interface LeftOutColumn {
  readonly column: string;
  /** Whether `*` or `**` precedes it. */
  readonly followsAll: boolean;
}

interface SelectTree {
  readonly root: SelectNode;
  /** Embeds that a parameter addresses by the name of the target, parents before children. */
  readonly targetNameUses: readonly TargetNameUse[];
}

/** Whether names of targets can address embeds with an alias. */
type TargetNameConfig = Pick<Config, "urlUseLegacyTargetNames">;

/** Builds the tree. Throws `108` for a path without an embed. Checks filters first, then orders,
 * limits and groups, each from last to first. */
export function buildSelectTree(query: QueryParams, config: TargetNameConfig): SelectTree {
  const root = draftOf(null, query.select.length === 0 ? [{ kind: "all" }] : query.select);
  const attach = <T>(
    entries: readonly AtLevel<T>[],
    to: (draft: Draft, value: T) => void,
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
      const { draft, aggregate } = places[index]!;
      if (aggregate === null) to(draft, value);
      else toAggregate!(getOrMake(draft.aggregateFilters, aggregate, () => []), value);
    });
  };
  const toTrees = (trees: LogicTree[], tree: LogicTree) => trees.push(tree);
  attach(
    query.filters,
    (draft, filter) => draft.filters.push(filter),
    toTrees,
    query.filterNames,
  );
  attach(query.order, (draft, terms) => {
    if (draft.order.length === 0) draft.order.push(...terms);
  });
  attach(query.limits, (draft, { limit, offset }) => {
    draft.limit = limit ?? draft.limit;
    draft.offset = offset ?? draft.offset;
  });
  attach(query.logic, (draft, group) => draft.logic.push(group), toTrees);
  attach(query.clauses, attachClause);
  return { root, targetNameUses: targetNameUsesOf(root) };
}

function attachClause(draft: Draft, clause: Clause): void {
  switch (clause.kind) {
    case "having":
      draft.having.push(clause.group);
      break;
    case "embedTest":
      draft.logic.push(clause.test);
      break;
    case "distinct":
      draft.distinct ??= clause.fields;
      break;
    case "page":
      draft[clause.direction] = clause.cursor;
      break;
    default:
      clause satisfies never;
  }
}

export function addressOf(item: EmbedItem): string {
  return (item.kind === "relation" ? item.alias : null) ?? item.target;
}

/** A {@linkcode SelectNode} under construction. */
interface Draft extends SelectNode {
  readonly children: Draft[];
  readonly filters: Filter[];
  readonly logic: (LogicGroup | EmbedTest)[];
  readonly having: LogicGroup[];
  readonly aggregateFilters: Map<string, LogicTree[]>;
  distinct: readonly Field[] | "all" | null;
  readonly order: OrderTerm[];
  limit: bigint | null;
  offset: bigint | null;
  after: string | null;
  before: string | null;
  /** Whether a parameter addresses an embed with an alias by the name of the target. */
  usesTargetName: boolean;
}

function draftOf(item: EmbedItem | null, select: readonly SelectItem[]): Draft {
  const fields: FieldItem[] = [];
  const leftOut: LeftOutColumn[] = [];
  const children: Draft[] = [];
  for (const entry of select) {
    if (isEmbed(entry)) children.push(draftOf(entry, entry.select));
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
  readonly draft: Draft;
  /** Alias of the addressed aggregate; null for the node itself. */
  readonly aggregate: string | null;
}

interface PathConfig extends TargetNameConfig {
  readonly takesAggregates: boolean;
  /** Name of the parameter that has the path; empty for a filter. */
  readonly parameter: string;
}

function findPlace(root: Draft, path: readonly string[], config: PathConfig): LevelPlace {
  let draft = root;
  for (const [index, name] of path.entries()) {
    const isLast = index === path.length - 1;
    const child = childOf(draft, name, config);
    if (child === undefined && isLast && config.takesAggregates && hasAggregate(draft, name)) {
      return { draft, aggregate: name };
    }
    if (child === undefined) throw notEmbedded(draft, name, config.parameter);
    draft = child;
    if (addressOf(draft.item!) !== name) draft.usesTargetName = true;
  }
  return { draft, aggregate: null };
}

/** Returns whether a node has aggregates. Aggregates of a spread belong to its parent. */
function hasAggregate({ item, fields }: Draft, alias: string): boolean {
  return item?.kind !== "spread" &&
    fields.some((item) => isKeyed(item) && item.alias === alias && isAggregateItem(item));
}

function targetNameUsesOf(root: Draft): readonly TargetNameUse[] {
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
  { children }: Draft,
  name: string,
  { urlUseLegacyTargetNames }: TargetNameConfig,
): Draft | undefined {
  return children.find(({ item }) =>
    addressOf(item!) === name || (urlUseLegacyTargetNames && item!.target === name)
  );
}

function notEmbedded({ children }: Draft, name: string, parameter: string): ServiceError {
  if (parameter.includes("(")) return errors.notEmbedded(name, `Write and=(${parameter}.eq.value)`);
  const targeted = children.find(({ item }) => item!.target === name);
  return targeted === undefined
    ? errors.notEmbedded(name)
    : errors.embeddedUnderAlias(name, addressOf(targeted.item!));
}
