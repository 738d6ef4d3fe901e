/**
 * First pass: builds the tree of the select list. Each node gets the filters, groups, orders and
 * limits that address it.
 *
 * @module
 */
import { errors } from "../errors/catalogue.ts";
import type { TargetNameUse } from "../errors/target_name_warning.ts";
import type {
  AtLevel,
  Filter,
  LogicGroup,
  OrderTerm,
  QueryParams,
  SelectAll,
  SelectCount,
  SelectField,
  SelectItem,
  SelectRelation,
  SelectSpread,
} from "../request/query_types.ts";

/** An entry of a select list that is not an embed. */
export type FieldItem = SelectField | SelectAll | SelectCount;

/** An entry of a select list that embeds a relation. */
export type EmbedItem = SelectRelation | SelectSpread;

/** One node of the tree: the root or an embed, as the request writes it. */
export interface SelectNode {
  /** The select item that embeds the node; null for the root. */
  readonly item: EmbedItem | null;
  readonly fields: readonly FieldItem[];
  readonly children: readonly SelectNode[];
  readonly filters: readonly Filter[];
  readonly logic: readonly LogicGroup[];
  readonly order: readonly OrderTerm[];
  readonly limit: bigint | null;
  readonly offset: bigint | null;
}

/** The tree, with the embeds that parameters address by their target's name. */
export interface SelectTree {
  readonly root: SelectNode;
  /**
   * One entry for each aliased embed that a parameter addresses by its target's name: parents
   * before children, in the order of `select`.
   */
  readonly targetNameUses: readonly TargetNameUse[];
}

/** The option that decides whether target names address aliased embeds. */
export interface TargetNameConfig {
  readonly urlUseLegacyTargetNames: boolean;
}

/**
 * Builds the tree. Throws `108` for a path that is not embedded. Filters are checked first, then
 * orders, limits and groups; of each kind, the last path that fails is reported.
 */
export function buildSelectTree(query: QueryParams, config: TargetNameConfig): SelectTree {
  const root = draftOf(null, query.select.length === 0 ? [{ kind: "all" }] : query.select);
  const attach = <T>(entries: readonly AtLevel<T>[], to: (draft: Draft, value: T) => void) => {
    const drafts = new Array<Draft>(entries.length);
    for (let index = entries.length - 1; index >= 0; index--) {
      drafts[index] = findNode(root, entries[index]!.path, config);
    }
    entries.forEach(({ value }, index) => to(drafts[index]!, value));
  };
  attach(query.filters, (draft, filter) => draft.filters.push(filter));
  attach(query.order, (draft, terms) => {
    if (draft.order.length === 0) draft.order.push(...terms);
  });
  attach(query.limits, (draft, { limit, offset }) => {
    draft.limit = limit ?? draft.limit;
    draft.offset = offset ?? draft.offset;
  });
  attach(query.logic, (draft, group) => draft.logic.push(group));
  return { root, targetNameUses: targetNameUsesOf(root) };
}

/** Returns the name that addresses an embed: its alias, else its target as written. */
export function addressOf(item: EmbedItem): string {
  return aliasOf(item) ?? item.target;
}

/** A {@linkcode SelectNode} under construction. */
interface Draft extends SelectNode {
  readonly children: Draft[];
  readonly filters: Filter[];
  readonly logic: LogicGroup[];
  readonly order: OrderTerm[];
  limit: bigint | null;
  offset: bigint | null;
  /** True if a parameter addresses an aliased embed by its target's name. */
  usesTargetName: boolean;
}

function draftOf(item: EmbedItem | null, select: readonly SelectItem[]): Draft {
  const fields: FieldItem[] = [];
  const children: Draft[] = [];
  for (const entry of select) {
    if (isEmbed(entry)) children.push(draftOf(entry, entry.select));
    else fields.push(entry);
  }
  const parameters = { filters: [], logic: [], order: [], limit: null, offset: null };
  return { item, fields, children, ...parameters, usesTargetName: false };
}

function isEmbed(item: SelectItem): item is EmbedItem {
  return item.kind === "relation" || item.kind === "spread";
}

function aliasOf(item: EmbedItem): string | null {
  return item.kind === "relation" ? item.alias : null;
}

function findNode(
  root: Draft,
  path: readonly string[],
  config: TargetNameConfig,
): Draft {
  let draft = root;
  for (const name of path) {
    draft = findChild(draft, name, config);
    if (addressOf(draft.item!) !== name) draft.usesTargetName = true;
  }
  return draft;
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

function findChild(draft: Draft, name: string, config: TargetNameConfig): Draft {
  const targeted = draft.children.find(({ item }) => item!.target === name);
  const found = draft.children.find(({ item }) =>
    addressOf(item!) === name || (config.urlUseLegacyTargetNames && item!.target === name)
  );
  if (found !== undefined) return found;
  throw targeted === undefined
    ? errors.notEmbedded(name)
    : errors.embeddedUnderAlias(name, addressOf(targeted.item!));
}
