/**
 * Plans filters and groups as conditions, with the conversions that the columns' types need.
 *
 * @module
 */
import type { Filter, LogicGroup, LogicTree, SimpleOperator } from "../request/query_types.ts";
import type { QualifiedName, Relation, SchemaCache } from "../schema_cache/schema_cache.ts";
import { cachedColumn, type FieldScope, planField } from "./fields.ts";
import type { Condition, FieldCondition } from "./read_node.ts";

/** Conditions that must all hold. */
export type Conditions = readonly Condition[];

/** Plans the conditions of a write, which apply to the relation's own columns. */
export function planConditions(
  filters: readonly Filter[],
  logic: readonly LogicGroup[],
  relation: Relation,
  cache: SchemaCache,
): Conditions {
  const scope: FieldScope = { relation, untypedRow: null, cache };
  return [...filters, ...logic].map((tree) => planCondition(tree, scope, noEmbeds));
}

/**
 * Returns the position of the embed that a name addresses; undefined when no embed has that name.
 */
export type EmbedPosition = (name: string) => number | undefined;

/** Plans one condition of a node. A null test of an embed's name becomes an EXISTS test. */
export function planCondition(
  tree: LogicTree,
  scope: FieldScope,
  embedPosition: EmbedPosition,
): Condition {
  if (tree.kind === "filter") {
    const embed = isNullTest(tree) ? embedPosition(tree.field.name) : undefined;
    return embed === undefined
      ? planFilter(tree, scope)
      : { kind: "embedded", embed, present: tree.negated };
  }
  const { kind, negated, operator } = tree;
  const children = tree.children.map((child) => planCondition(child, scope, embedPosition));
  return { kind, negated, operator, children };
}

/** Returns true if a filter is `is.null` or `not.is.null` on a whole column. */
export function isNullTest({ field, operation }: Filter): boolean {
  return field.path.length === 0 && operation.kind === "is" && operation.word === "null";
}

const noEmbeds: EmbedPosition = () => undefined;

/** Plans a filter on a column. */
export function planFilter(filter: Filter, scope: FieldScope): FieldCondition {
  const { negated, operation } = filter;
  const field = planField(filter.field, scope);
  switch (operation.kind) {
    case "compare": {
      const convert = patterns.has(operation.operator) ? null : inputFunction(filter, scope);
      return { ...operation, field, negated, convert };
    }
    case "in":
      return { ...operation, field, negated, convert: inputFunction(filter, scope) };
    case "is":
    case "isdistinct":
      return { ...operation, field, negated };
    case "fullText":
      return { ...operation, field, negated, toTsvector: isDocument(filter, scope) };
    default:
      return operation satisfies never;
  }
}

/** Operators that compare with a pattern, which is not a value of the column's type. */
const patterns: ReadonlySet<SimpleOperator> = new Set(["like", "ilike"]);

function inputFunction({ field }: Filter, scope: FieldScope): QualifiedName | null {
  if (field.path.length > 0) return null;
  const type = cachedColumn(field.name, scope)?.declaredType;
  return (type === undefined ? undefined : scope.cache.representation("text", type)) ?? null;
}

/**
 * Returns true if the value needs a conversion to `tsvector`. Columns of unknown type are taken for
 * a `tsvector`.
 */
function isDocument({ field }: Filter, scope: FieldScope): boolean {
  if (field.path.length > 0) return true;
  const type = cachedColumn(field.name, scope)?.baseType;
  return type !== undefined && type !== "tsvector";
}
