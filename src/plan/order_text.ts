/**
 * Writes an order as the query string has it, for errors.
 *
 * @module
 */
import type { OrderTerm } from "../request/query_types.ts";
import type { Operand, Value } from "../request/value_types.ts";
import type { PlannedOrder } from "./read_node.ts";
import type { ResolvedNode } from "./resolved_tree.ts";

/** Returns the terms of an order: those of the request, then the columns that complete it. */
export function orderText(order: readonly PlannedOrder[], node: ResolvedNode): string {
  const terms = order.map((term, index) => {
    const requested = node.order[index];
    if (requested !== undefined) return requestedText(requested);
    if (term.kind === "field") return term.field.column;
    return "…";
  });
  return terms.join(",");
}

function requestedText({ relation, field, operand, direction, nulls }: OrderTerm): string {
  const own = operand === undefined ? valueText({ field, steps: [] }) : operandText(operand);
  const value = relation === null ? own : `${relation}(${own})`;
  const parts = [value, direction, nulls === null ? null : `nulls${nulls}`];
  return parts.filter((part) => part !== null).join(".");
}

function operandText(operand: Operand): string {
  return operand.kind === "value"
    ? valueText(operand.value)
    : `${operand.embed}(${operandText(operand.operand)})`;
}

/** Returns a value without the arguments of its calls. */
function valueText({ field, steps }: Value): string {
  const path =
    field?.path.map(({ arrow, operand }) =>
      arrow + (operand.kind === "key" ? operand.key : operand.index)
    ) ?? [];
  const rest = steps.map((step) =>
    step.kind === "cast"
      ? `::${step.type}`
      : `.${step.name}(${step.arguments.length === 0 ? "" : "…"})`
  );
  return [field === null ? "count()" : field.name, ...path, ...rest].join("");
}
