/** Plans filters and groups as conditions, with the conversions that types need. @module */
import { isPattern, operatorSql } from "../request/url/operators.ts";
import { errors } from "../../base/errors/catalogue.ts";
import type { Filter, LogicGroup, LogicTree, Operation } from "../request/url/query_types.ts";
import type { Field, Operand, Value } from "../request/url/value_types.ts";
import type { QualifiedName, Relation } from "../../state/schema_cache/schema_cache.ts";
import { cachedColumn, comparable, type FieldScope } from "./values/fields.ts";
import { ownNames, valueOf } from "./level_names.ts";
import type { Condition, FieldCondition, PlannedValue } from "./read_node.ts";
import { isTextType, similaritySchema } from "./values/search_operators.ts";
import { needsDocument, typeOf } from "./values/type_of_value.ts";
import { planValue, rowPlace, type ValuePlace } from "./values/values.ts";

/** Conditions that must all hold. */
export type Conditions = readonly Condition[];

/** Plans the conditions of a write, which apply to the relation's columns. */
export function planConditions(
  filters: readonly Filter[],
  logic: readonly LogicGroup[],
  relation: Relation,
  rules: Pick<FieldScope, "cache" | "values" | "hasExcluded">,
): Conditions {
  const scope: FieldScope = { relation, untypedRow: null, names: ownNames, ...rules };
  const trees = [...filters, ...logic];
  trees.forEach(refuseEmbeds);
  return trees.map((tree) => planRowCondition(tree, scope));
}

/** Throws `160` if a condition of a write tests an embed. */
function refuseEmbeds(tree: LogicTree): void {
  if (tree.kind === "embedTest") throw errors.onlyForReading(tree.embed);
  if (tree.kind === "group") tree.children.forEach(refuseEmbeds);
  else if (tree.operand?.kind === "related" && tree.prefersColumn !== true) {
    throw errors.onlyForReading(tree.operand.embed);
  } else if (tree.operation.kind === "column" && tree.operation.operand.kind === "related") {
    throw errors.onlyForReading(tree.operation.operand.embed);
  }
}

/** Plans a condition that must not name embeds, such as a write's. Throws `108` for an embed. */
export function planRowCondition(tree: LogicTree, scope: FieldScope): Condition {
  switch (tree.kind) {
    case "filter":
      return planFilter(tree, scope);
    case "group":
      return { ...tree, children: tree.children.map((child) => planRowCondition(child, scope)) };
    case "embedTest":
      throw errors.notEmbedded(tree.embed);
    default:
      return tree satisfies never;
  }
}

/** Returns whether a filter is `is.null` or `not.is.null` on a whole column. */
export function isNullTest({ field, operation }: Filter): boolean {
  return field.path.length === 0 && operation.kind === "is" && operation.word === "null";
}

export type OtherPlanner = (operand: Operand) => PlannedValue;

/** Plans a filter on a column or a value. Throws the errors of {@linkcode planValue}. */
export function planFilter(
  filter: Filter,
  scope: FieldScope,
  place: ValuePlace = rowPlace,
  planOther: OtherPlanner = (operand) => planValue(valueInRow(operand), scope, place),
): FieldCondition {
  const { negated, operation } = filter;
  const compared = comparedOf(filter, scope);
  const value = planValue(compared, scope, place);
  const field = operation.kind === "is" ? value : comparable(value, scope);
  switch (operation.kind) {
    case "compare": {
      const convert = isPattern(operation.operator) ? null : inputFunction(compared, scope);
      return { ...operation, field, negated, convert };
    }
    case "in":
      return { ...operation, field, negated, convert: inputFunction(compared, scope) };
    case "is":
    case "isdistinct":
      return { ...operation, field, negated };
    case "similar":
      return planSimilar(filter, operation, { field, compared }, scope);
    case "column": {
      const { kind, operator, operand, isExcluded } = operation;
      if (isExcluded && scope.hasExcluded !== true) {
        throw errors.invalidConflict("'excluded' has a meaning in on_conflict.where only");
      }
      const other = planOther(operand);
      return { kind, operator, other, isExcluded, field, negated };
    }
    case "fullText":
      return { ...operation, field, negated, toTsvector: needsDocument(field, scope) };
    default:
      return operation satisfies never;
  }
}

/** Plans a comparison by similarity. The schema cache has the operators of pg_trgm by name. */
function planSimilar(
  { negated }: Filter,
  operation: Extract<Operation, { kind: "similar" }>,
  { field, compared }: { readonly field: PlannedValue; readonly compared: Value },
  scope: FieldScope,
): FieldCondition {
  const { operator } = operation;
  const schema = similaritySchema(operatorSql(operator), scope.cache);
  const type = typeOf(field, scope);
  if (schema === null || !isTextType(type)) {
    throw errors.noOperator(operator, { column: compared.field?.name ?? "count", type });
  }
  return { ...operation, schema, field, negated };
}

/** Returns the value that a filter compares. A column takes precedence over a select item. */
export function comparedOf({ field, operand, prefersColumn }: Filter, scope: FieldScope): Value {
  if (operand !== undefined && prefersColumn !== true) return valueInRow(operand);
  return rowValue(field, scope);
}

/** Returns the column that a field names or, without such a column, the value of the select item. */
export function rowValue(field: Field, { names }: FieldScope): Value {
  const item = field.path.length > 0 || names.isOwn(field.name)
    ? undefined
    : names.item(field.name);
  return item === undefined ? { field, steps: [] } : valueOf(item);
}

function valueInRow(operand: Operand): Value {
  if (operand.kind === "related") throw errors.notEmbedded(operand.embed);
  return operand.value;
}

function inputFunction({ field, steps }: Value, scope: FieldScope): QualifiedName | null {
  if (field === null || field.path.length > 0 || steps.length > 0) return null;
  const type = cachedColumn(field.name, scope)?.declaredType;
  return (type === undefined ? undefined : scope.cache.representation("text", type)) ?? null;
}
