/** Finds the operands of conditions in the value of a parameter. @module */
import { operatorExpression, restOfText } from "./filter_grammar.ts";
import { group } from "./logic_grammar.ts";
import type { Filter, LogicTree } from "./query_types.ts";
import { type OperandSpan, Scanner } from "./scanner.ts";

/** The position of an operand: a text, or the elements of a list. */
export interface OperandPlace {
  readonly span: OperandSpan;
  /** The condition that has the operand. `field` is null if the parameter's name is the field. */
  readonly condition: Pick<Filter, "operand" | "operation"> & {
    readonly field: Filter["field"] | null;
  };
}

/** Returns the operands of a filter or a group in parentheses; null for other values. */
export function operandPlaces(value: string): readonly OperandPlace[] | null {
  const scanner = new Scanner(value);
  const spans: OperandSpan[] = [];
  scanner.operandSpans = spans;
  const conditions = scanner.attempt((inner) =>
    value.trimStart().startsWith("(")
      ? filtersOf(group(inner))
      : [{ field: null, ...operatorExpression(inner, restOfText) }]
  );
  if (conditions === undefined) return null;
  return conditions.filter(({ operation: { kind } }) => kind !== "is" && kind !== "column")
    .map((condition, at) => ({ condition, span: spans[at]! }));
}

function filtersOf(trees: readonly LogicTree[]): readonly Filter[] {
  return trees.flatMap((tree) => tree.kind === "filter" ? [tree] : filtersOf(tree.children));
}

/** Returns a value with other operands. */
export function withOperands(
  value: string,
  places: readonly OperandPlace[],
  textOf: (place: OperandPlace) => string,
): string {
  let end = 0;
  const texts = places.map((place) => {
    const before = value.slice(end, place.span[0]);
    end = place.span[1];
    return before + textOf(place);
  });
  return texts.join("") + value.slice(end);
}
