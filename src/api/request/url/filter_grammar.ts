/** Grammar of filters: `not.eq.5`, `in.(1,2)`, `is.null`, `fts(english).fat`. @module */
import { delimiter, ident, quoted } from "./name_grammar.ts";
import { type Operator, operators } from "./operators.ts";
import type { Filter, IsWord, Operation } from "./query_types.ts";
import { commonStart, type Production, type Scanner } from "./scanner.ts";
import { operand as operandOf } from "./value_grammar.ts";

const operatorLabel = ["operator (eq, gt, ...)"] as const;
const notOrOperator = ['"not"', ...operatorLabel] as const;
const openParenthesis = ['"("'] as const;
const elementEnd = ['","', '")"'] as const;
const isLabel = ["isVal: (null, not_null, true, false, unknown)"] as const;
const quantifiers = ["any", "all"] as const;
const isWords: readonly IsWord[] = ["null", "not_null", "true", "false", "unknown"];

const longestOperator = Math.max(...[...operators.keys()].map((word) => word.length));

export type OperatorExpression = Pick<Filter, "negated" | "operation">;

/** `op-expr = [ "not." ] operation`; `value` parses the operands. */
export function operatorExpression(
  scanner: Scanner,
  value: Production<string>,
): OperatorExpression {
  const negated = scanner.skip("not");
  if (negated) scanner.take(".", delimiter);
  return { negated, operation: operation(scanner, value, negated ? operatorLabel : notOrOperator) };
}

/** Returns whether text that cannot be parsed was probably meant as a comparison. */
export function isCommitted(text: string): boolean {
  return /^(?:not|in|is)\./.test(text);
}

/** `value = *any`: the rest of the text, unchanged. */
export function restOfText(scanner: Scanner): string {
  const rest = scanner.text.slice(scanner.position);
  scanner.position = scanner.text.length;
  return rest;
}

/**
 * ```
 * operation = "in." list / "is." word / "isdistinct." value
 *           / fts [ "(" lang ")" ] "." value
 *           / ( "sim" / "wsim" / "swsim" ) "." value
 *           / simple "." value
 *           / quant [ "(any)" / "(all)" ] "." value
 *           / ( simple / quant / "isdistinct" ) ( "(col)." / "(excluded)." ) operand
 * ```
 */
function operation(
  scanner: Scanner,
  value: Production<string>,
  labels: readonly string[],
): Operation {
  const operator = operatorWord(scanner, labels);
  const column = columnOperator(operator);
  const mark = rowMarks.find((each) => scanner.sees(each));
  if (column !== null && mark !== undefined) {
    scanner.position += mark.length;
    const isExcluded = mark === "(excluded).";
    return { kind: "column", operator: column, operand: operandOf(scanner), isExcluded };
  }
  switch (operator.kind) {
    case "simple":
    case "quantified":
    case "pattern": {
      const { kind, word } = operator;
      const quantifier = kind !== "simple" && scanner.skip("(") ? anyOrAll(scanner) : null;
      return { kind: "compare", operator: word, quantifier, value: operand(scanner, value) };
    }
    case "fullText": {
      const { kind, word } = operator;
      const language = scanner.skip("(") ? languageOf(scanner) : null;
      return { kind, operator: word, language, value: operand(scanner, value) };
    }
    case "similar":
      return { kind: "similar", operator: operator.word, value: operand(scanner, value) };
    case "in":
      return inList(scanner);
    case "is":
      return isTest(scanner);
    case "isdistinct":
      return { kind: "isdistinct", value: operand(scanner, value) };
    default:
      return operator satisfies never;
  }
}

/** The row of the compared value: the same row, or the row that an upsert proposes. */
const rowMarks = ["(col).", "(excluded)."] as const;

type ColumnOperator = Extract<Operation, { readonly kind: "column" }>["operator"];

function columnOperator({ kind, word }: Operator): ColumnOperator | null {
  return /^(?:simple|quantified|pattern|isdistinct)$/.test(kind) ? word as ColumnOperator : null;
}

/** Reads lower-case letters, which must all belong to the operator. */
function operatorWord(scanner: Scanner, labels: readonly string[]): Operator {
  const { text, position } = scanner;
  const [word = ""] = /^[a-z]+/.exec(text.slice(position, position + longestOperator + 1)) ?? [];
  const operator = operators.get(word);
  if (operator !== undefined) {
    scanner.position += word.length;
    return operator;
  }
  const length = longestKnownStart(word);
  scanner.position += length;
  // For text that begins like `not`, the error names the first character that differs.
  const shared = length === 0 && labels === notOrOperator ? commonStart("not", word) : 0;
  return scanner.fail(length > 0 ? operatorLabel : labels, position + length + shared);
}

/** Returns the length of the longest operator with which a word begins, or 0. */
function longestKnownStart(word: string): number {
  let length = word.length;
  while (length > 0 && !operators.has(word.slice(0, length))) length--;
  return length;
}

function operand(scanner: Scanner, value: Production<string>): string {
  scanner.take(".", operatorLabel);
  return noted(scanner, value);
}

/** Parses an operand, and records its position. */
function noted<T>(scanner: Scanner, production: Production<T>): T {
  const start = scanner.position;
  const read = production(scanner);
  scanner.operandSpans?.push([start, scanner.position]);
  return read;
}

function anyOrAll(scanner: Scanner): "any" | "all" {
  const quantifier = scanner.takeWord(quantifiers, operatorLabel);
  scanner.take(")", operatorLabel);
  return quantifier;
}

function languageOf(scanner: Scanner): string {
  const language = ident(scanner) ?? scanner.fail(operatorLabel);
  scanner.take(")", operatorLabel);
  return language;
}

/** `word = "null" / "not_null" / "true" / "false" / "unknown"` in any case; text after it is not read. */
function isTest(scanner: Scanner): Operation {
  scanner.take(".", operatorLabel);
  const { text, position } = scanner;
  let farthest = 0;
  for (const word of isWords) {
    const length = commonStart(word, text.slice(position, position + word.length).toLowerCase());
    if (length === word.length) {
      scanner.position += length;
      return { kind: "is", word };
    }
    farthest = Math.max(farthest, length);
  }
  scanner.position += farthest;
  return scanner.fail(isLabel);
}

/** `list = ws "(" ws element *( "," element ) ws ")"`; one empty element is an empty list. */
function inList(scanner: Scanner): Operation {
  scanner.take(".", operatorLabel);
  scanner.skipBlanks();
  scanner.take("(", openParenthesis);
  scanner.skipBlanks();
  const values = noted(scanner, elements);
  scanner.take(")", elementEnd);
  return { kind: "in", values: values.length === 1 && values[0] === "" ? [] : values };
}

function elements(scanner: Scanner): readonly string[] {
  const values: string[] = [];
  do values.push(element(scanner)); while (scanner.skip(","));
  scanner.skipBlanks();
  return values;
}

/** `element = quoted-whole / *( any character but "," and ")" )` */
function element(scanner: Scanner): string {
  return quotedWhole(scanner) ?? bare(scanner);
}

/** A quoted text, directly followed by `,`, `)` or the end. */
export function quotedWhole(scanner: Scanner): string | undefined {
  if (!scanner.sees('"')) return undefined;
  const start = scanner.position;
  const read = scanner.attempt(quoted);
  if (read !== undefined && (scanner.atEnd || scanner.sees(",") || scanner.sees(")"))) return read;
  scanner.position = start;
  return undefined;
}

/** Everything up to the next `,` or `)`. */
export function bare(scanner: Scanner): string {
  const { text, position } = scanner;
  let end = position;
  for (; end < text.length; end++) {
    const code = text.charCodeAt(end);
    if (code === 0x2c || code === 0x29) break;
  }
  scanner.position = end;
  return text.slice(position, end);
}
