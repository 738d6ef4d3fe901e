/**
 * The value of `order`.
 *
 * @module
 */
import { delimiter, field, fieldFrom, name } from "./name_grammar.ts";
import type { OrderTerm } from "./query_types.ts";
import type { Scanner } from "./scanner.ts";

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
    terms.push(read);
  } while (scanner.skip(","));
  return terms;
}

/** `term = ( name "(" field ")" / field ) modifiers`, before `,` or the end. */
function term(scanner: Scanner): OrderTerm | undefined {
  const first = name(scanner);
  if (first === undefined) return undefined;
  const related = scanner.sees("(") ? scanner.attempt(relatedField) : undefined;
  const ordered = related ?? fieldFrom(scanner, first);
  if (ordered === undefined) return undefined;
  const placed = placement(scanner);
  if (placed === undefined) return undefined;
  return { relation: related === undefined ? null : first, field: ordered, ...placed };
}

function relatedField(scanner: Scanner) {
  scanner.position++;
  const read = field(scanner);
  return scanner.skip(")") ? read : undefined;
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
