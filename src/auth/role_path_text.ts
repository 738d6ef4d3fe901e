/**
 * Writes JSONPath in canonical form. Parsing and writing the result again returns the same text.
 *
 * @module
 */
import type { jsonpath, JSONPathQuery, TokenKind } from "json-p3";

/** The JSONPath library. The service loads it only for paths that need it. */
export type JsonPathLibrary = typeof import("json-p3");

type Selector = InstanceType<typeof jsonpath.JSONPathSelector>;
type Segment = InstanceType<typeof jsonpath.JSONPathSegment>;
type Expression = InstanceType<typeof jsonpath.expressions.FilterExpression>;

/**
 * Writes a compiled path. Names keep dots or brackets, texts have single quotes, slices have a step,
 * and numbers in filters have a decimal point. Filters have only the necessary parentheses.
 */
export function jsonPathText(query: JSONPathQuery, library: JsonPathLibrary): string {
  return `$${segmentsText(query, library)}`;
}

function segmentsText({ segments }: JSONPathQuery, library: JsonPathLibrary): string {
  return segments.map((segment) => segmentText(segment, library)).join("");
}

function segmentText({ token, selectors }: Segment, library: JsonPathLibrary): string {
  const kinds = library.TokenKind;
  const descends = token.kind === kinds.DDOT;
  const [first] = selectors;
  if (isDotted(first, kinds.NAME)) return `${descends ? ".." : "."}${first.token.value}`;
  if (token.kind === kinds.WILD) return ".*";
  const inside = selectors.map((selector) => selectorText(selector, library)).join(",");
  return `${descends ? ".." : ""}[${inside}]`;
}

function isDotted(selector: Selector | undefined, name: TokenKind): selector is Selector {
  return selector?.token.kind === name;
}

function selectorText(selector: Selector, library: JsonPathLibrary): string {
  const { NameSelector, IndexSelector, SliceSelector, FilterSelector } = library.jsonpath.selectors;
  if (selector instanceof NameSelector) return quoted(selector.name);
  if (selector instanceof IndexSelector) return String(selector.index);
  if (selector instanceof SliceSelector) {
    return `${selector.start ?? ""}:${selector.stop ?? ""}:${selector.step ?? 1}`;
  }
  if (selector instanceof FilterSelector) {
    return `?${expressionText(selector.expression, library).text}`;
  }
  return "*";
}

/** Operator precedence in filter expressions. */
const precedence = { "||": 1, "&&": 2, comparison: 3, single: 4 } as const;

interface ExpressionText {
  readonly text: string;
  readonly precedence: number;
}

function expressionText(expression: Expression, library: JsonPathLibrary): ExpressionText {
  const kinds = library.jsonpath.expressions;
  if (expression instanceof kinds.LogicalExpression) {
    return expressionText(expression.expression, library);
  }
  if (expression instanceof kinds.InfixExpression) return infixText(expression, library);
  return { text: singleText(expression, library), precedence: precedence.single };
}

function infixText(
  { left, operator, right }: InstanceType<
    JsonPathLibrary["jsonpath"]["expressions"]["InfixExpression"]
  >,
  library: JsonPathLibrary,
): ExpressionText {
  const own = operator === "||" || operator === "&&" ? precedence[operator] : precedence.comparison;
  const [before, after] = [left, right].map((side) => enclosed(expressionText(side, library), own));
  return { text: `${before} ${operator} ${after}`, precedence: own };
}

function singleText(expression: Expression, library: JsonPathLibrary): string {
  const kinds = library.jsonpath.expressions;
  if (expression instanceof kinds.PrefixExpression) {
    const right = enclosed(expressionText(expression.right, library), precedence.single);
    return `${expression.operator}${right}`;
  }
  if (expression instanceof kinds.StringLiteral) return quoted(expression.value);
  if (expression instanceof kinds.NumberLiteral) return decimal(expression.value);
  if (expression instanceof kinds.FunctionExtension) {
    const args = expression.args.map((argument) => expressionText(argument, library).text);
    return `${expression.name}(${args.join(", ")})`;
  }
  if (expression instanceof kinds.FilterQuery) {
    const start = expression instanceof kinds.RootQuery ? "$" : "@";
    return `${start}${segmentsText(expression.path, library)}`;
  }
  return expression.toString();
}

function enclosed({ text, precedence }: ExpressionText, atLeast: number): string {
  return precedence < atLeast ? `(${text})` : text;
}

/** Writes whole numbers below 1e21 with one decimal place. */
function decimal(value: number): string {
  const whole = Number.isInteger(value) && Math.abs(value) < 1e21;
  return whole ? value.toFixed(1) : String(value);
}

/** `'…'`: the string literal of RFC 9535, section 2.3.1.1. */
function quoted(value: string): string {
  const inside = JSON.stringify(value).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'");
  return `'${inside}'`;
}
