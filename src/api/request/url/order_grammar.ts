/** The value of `order`. @module */
import { delimiter, name } from "./name_grammar.ts";
import type { OrderTerm } from "./query_types.ts";
import type { Scanner } from "./scanner.ts";
import { fieldOrOperand } from "./value_grammar.ts";
import type { RelatedOperand } from "./value_types.ts";

const comma = ['","'] as const;
const directions = ["asc", "desc"] as const;
const nullsWords = ["nullsfirst", "nullslast"] as const;
const modifiers = [...directions, ...nullsWords] as const;
const nullsLabels = nullsWords.map((word) => `"${word}"`);
const modifierLabels = modifiers.map((word) => `"${word}"`);

const nullsOf = { nullsfirst: "first", nullslast: "last" } as const;

/** `order = term *( "," term )` */
export function order(scanner: Scanner): readonly OrderTerm[] {
  return scanner.list("terms of 'order'", term);
}

/** `term = ( name "(" operand ")" / value ) modifiers`, before `,` or the end. */
function term(scanner: Scanner): OrderTerm {
  const first = name(scanner);
  const { field, operand } = fieldOrOperand(scanner, first);
  const ordered = operand?.kind === "related"
    ? relatedTerm(first, operand)
    : { relation: null, field, ...operand && { operand } };
  return { ...ordered, ...placement(scanner) };
}

/** Parses a column of an embed, or another operand in the embed. */
function relatedTerm(
  relation: string,
  operand: RelatedOperand,
): Pick<OrderTerm, "relation" | "field" | "operand"> {
  const { operand: inner } = operand;
  if (inner.kind === "value" && inner.value.steps.length === 0 && inner.value.field !== null) {
    return { relation, field: inner.value.field };
  }
  return { relation, field: { name: relation, path: [] }, operand };
}

type Placement = Pick<OrderTerm, "direction" | "nulls">;

/** `modifiers = [ "." ( "asc" / "desc" ) ] [ "." ( "nullsfirst" / "nullslast" ) ]` */
function placement(scanner: Scanner): Placement {
  if (!scanner.skip(".")) return placed(scanner, { direction: null, nulls: null }, delimiter);
  const word = scanner.takeWord(modifiers, modifierLabels);
  if (word === "nullsfirst" || word === "nullslast") {
    return placed(scanner, { direction: null, nulls: nullsOf[word] }, []);
  }
  if (!scanner.skip(".")) return placed(scanner, { direction: word, nulls: null }, delimiter);
  const nulls = nullsOf[scanner.takeWord(nullsWords, nullsLabels)];
  return placed(scanner, { direction: word, nulls }, []);
}

/** Fails unless the term ends here. */
function placed(scanner: Scanner, placement: Placement, others: readonly string[]): Placement {
  if (scanner.atEnd || scanner.sees(",")) return placement;
  scanner.expect(others);
  return scanner.failAtEnd(comma);
}
