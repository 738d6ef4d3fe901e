/** Queries about planned values and conditions. @module */
import type {
  Condition,
  PlannedArgument,
  PlannedField,
  PlannedValue,
  ReadItem,
} from "../read_node.ts";

/** A call of an aggregate. */
export type AggregateValue = Extract<PlannedValue, { kind: "aggregate" }>;

/** Returns the aggregate in a value, or null. */
export function aggregateIn(value: PlannedValue): AggregateValue | null {
  switch (value.kind) {
    case "cast":
    case "call":
    case "document":
      return aggregateIn(value.value);
    case "aggregate":
      return value;
    case "column":
    case "related":
    case "outer":
      return null;
    default:
      return value satisfies never;
  }
}

export function isAggregateColumn(item: ReadItem): boolean {
  return item.kind === "value" && aggregateIn(item.value) !== null;
}

/** Returns whether a value is a distance, also within a row of an embed. */
export function isDistance(value: PlannedValue): boolean {
  if (value.kind === "related") return isDistance(value.value);
  return value.kind === "call" && (value.extension?.rightType ?? null) !== null;
}

/** Lists the fields in a value, in its arguments and its filter, including fields of embeds. */
export function fieldsOf(operand: PlannedValue): readonly PlannedField[] {
  const inArguments = (args: readonly PlannedArgument[]) =>
    args.flatMap((argument) => argument.kind === "value" ? fieldsOf(argument.value) : []);
  switch (operand.kind) {
    case "column":
      return [operand.field];
    case "cast":
    case "document":
      return fieldsOf(operand.value);
    case "call":
      return [...fieldsOf(operand.value), ...inArguments(operand.arguments)];
    case "aggregate":
      return [
        ...operand.argument === null ? [] : fieldsOf(operand.argument),
        ...operand.filter.flatMap(fieldsOfCondition),
      ];
    case "related":
    case "outer":
      return fieldsOf(operand.value);
    default:
      return operand satisfies never;
  }
}

/** Lists the fields in a condition, except in null tests. */
export function fieldsOfCondition(condition: Condition): readonly PlannedField[] {
  switch (condition.kind) {
    case "group":
      return condition.children.flatMap(fieldsOfCondition);
    case "embedded":
      return [];
    case "related":
      return condition.conditions.flatMap(fieldsOfCondition);
    case "column":
      return [...fieldsOf(condition.field), ...fieldsOf(condition.other)];
    default:
      return fieldsOf(condition.field);
  }
}
