/** The value of `order`. @module */
import { delimiter, fieldFrom, name } from "./name_grammar.ts";
import type { OrderTerm } from "./query_types.ts";
import type { Scanner } from "./scanner.ts";
import { relatedFrom, seesStep, steps } from "./value_grammar.ts";
import type { Operand } from "./value_types.ts";

const comma = ['","'] as const;
const directions = ["asc", "desc"] as const;
const nullsWords = ["nullsfirst", "nullslast"] as const;
const modifiers = [...directions, ...nullsWords] as const;
const nullsLabels = nullsWords.map((word) => `"${word}"`);
const modifierLabels = modifiers.map((word) => `"${word}"`);

const nullsOf = { nullsfirst: "first", nullslast: "last" } as const;

/** `order = term *( "," term )` */
export function order(scanner: Scanner): readonly OrderTerm[] | undefined {
  const terms: OrderTerm[] = [];
  do {
    const read = term(scanner);
    if (read === undefined) return undefined;
    scanner.countPart("terms of 'order'");
    terms.push(read);
  } while (scanner.skip(","));
  return terms;
}

/** `term = ( name "(" operand ")" / value ) modifiers`, before `,` or the end. */
function term(scanner: Scanner): OrderTerm | undefined {
  const first = name(scanner);
  if (first === undefined) return undefined;
  if (first === "count" && scanner.skip("()")) return countTerm(scanner);
  const related = scanner.sees("(") ? relatedTerm(scanner, first) : undefined;
  const ordered = related ?? ownTerm(scanner, first);
  if (ordered === undefined) return undefined;
  const placed = placement(scanner);
  return placed === undefined ? undefined : { ...ordered, ...placed };
}

type Ordered = Pick<OrderTerm, "relation" | "field" | "operand">;

/** `count()`, or a call on it. */
function countTerm(scanner: Scanner): OrderTerm | undefined {
  const read = steps(scanner);
  const placed = read === undefined ? undefined : placement(scanner);
  if (read === undefined || placed === undefined) return undefined;
  const operand: Operand = { kind: "value", value: { field: null, steps: read } };
  return { relation: null, field: { name: "count", path: [] }, operand, ...placed };
}

/** A column of an embed, or a longer operand within one. */
function relatedTerm(scanner: Scanner, relation: string): Ordered | undefined {
  const operand = scanner.attempt((inner) => relatedFrom(inner, relation));
  if (operand?.kind !== "related") return undefined;
  const inner = operand.operand;
  if (inner.kind === "value" && inner.value.steps.length === 0 && inner.value.field !== null) {
    return { relation, field: inner.value.field };
  }
  return { relation, field: { name: relation, path: [] }, operand };
}

function ownTerm(scanner: Scanner, first: string): Ordered | undefined {
  const field = fieldFrom(scanner, first);
  if (field === undefined || !seesStep(scanner)) return field && { relation: null, field };
  const read = steps(scanner);
  if (read === undefined) return undefined;
  return { relation: null, field, operand: { kind: "value", value: { field, steps: read } } };
}

type Placement = Pick<OrderTerm, "direction" | "nulls">;

/** `modifiers = [ "." ( "asc" / "desc" ) ] [ "." ( "nullsfirst" / "nullslast" ) ]` */
function placement(scanner: Scanner): Placement | undefined {
  if (!scanner.skip(".")) return endOfTerm(scanner, delimiter) ? unplaced : undefined;
  const word = scanner.takeWord(modifiers, modifierLabels);
  switch (word) {
    case undefined:
      return undefined;
    case "nullsfirst":
    case "nullslast":
      return endOfTerm(scanner, []) ? { direction: null, nulls: nullsOf[word] } : undefined;
    case "asc":
    case "desc":
      return placementOfNulls(scanner, word);
    default:
      return word satisfies never;
  }
}

const unplaced: Placement = { direction: null, nulls: null };

function placementOfNulls(scanner: Scanner, direction: "asc" | "desc"): Placement | undefined {
  if (!scanner.skip(".")) {
    return endOfTerm(scanner, delimiter) ? { direction, nulls: null } : undefined;
  }
  const word = scanner.takeWord(nullsWords, nullsLabels);
  if (word === undefined) return undefined;
  return endOfTerm(scanner, []) ? { direction, nulls: nullsOf[word] } : undefined;
}

function endOfTerm(scanner: Scanner, others: readonly string[]): boolean {
  if (scanner.atEnd || scanner.sees(",")) return true;
  scanner.expect(others);
  scanner.expectEnd(comma);
  return false;
}
