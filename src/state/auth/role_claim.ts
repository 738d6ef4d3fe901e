/** Finds the role in a token's claims by the path in `jwt-role-claim-key`. @module */
import type { Claims } from "./jwt.ts";
import {
  followSteps,
  formatSteps,
  parseLegacyPath,
  type RolePathStep,
} from "./legacy_role_path.ts";
import { AuthSettingError } from "./keys.ts";
import type { jsonpath, JSONPathQuery } from "json-p3";

export interface RolePath {
  /** The path in canonical form. */
  readonly text: string;
  /** Whether the path has the legacy syntax (`.a.b`), for which the service logs a warning. */
  readonly deprecated: boolean;
  /** Returns the first value at the path, or undefined. Throws if `..` exceeds its maximum depth. */
  readonly find: (claims: Claims) => unknown;
}

/**
 * Parses a path: JSONPath (RFC 9535, with `search(value, regex)` as an unanchored match), else the
 * legacy syntax of {@linkcode parseLegacyPath}.
 *
 * Throws `AuthSettingError` if it is neither.
 */
export async function parseRolePath(text: string): Promise<RolePath> {
  const legacyPath = parseLegacyPath(text);
  if (legacyPath !== null) {
    return {
      text: formatSteps(legacyPath),
      deprecated: true,
      find: (claims) => followSteps(claims, legacyPath),
    };
  }
  try {
    return { ...await compileJsonPath(text), deprecated: false };
  } catch (error) {
    const problem = error instanceof Error ? `: ${error.message}` : "";
    throw new AuthSettingError(
      `failed to parse role-claim-key value (${text})${problem}`,
      "jwt-role-claim-key",
    );
  }
}

/**
 * Returns the name of the role at the path, or null. A string is the name; any other value is
 * converted to compact JSON text.
 */
export function roleOf(claims: Claims, path: RolePath): string | null {
  const value = path.find(claims);
  return value === undefined ? null : roleText(value);
}

/** Returns the text of a claim's value: that of a string, else compact JSON. */
export function roleText(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** Parses a path of names only, such as `$.role`, which needs no JSONPath library. */
function plainNames(text: string): readonly RolePathStep[] | null {
  if (!/^\$(?:\.[A-Za-z_][A-Za-z0-9_]*)+$/.test(text)) return null;
  return text.split(".").slice(1).map((name) => ({ kind: "name", name }));
}

/** Maximum depth of `..`, in levels. */
const maxDepth = 200;

/**
 * Returns the function that finds the first value at a JSONPath in claims; undefined also if `..` exceeds its
 * maximum depth. Rejects with an `Error` if the path is invalid.
 */
export async function compileClaimPath(text: string): Promise<(claims: Claims) => unknown> {
  const { find } = await compileJsonPath(text);
  return (claims) => {
    try {
      return find(claims);
    } catch {
      return undefined;
    }
  };
}

async function compileJsonPath(text: string): Promise<Pick<RolePath, "find" | "text">> {
  const names = plainNames(text);
  if (names !== null) return { text, find: (claims) => followSteps(claims, names) };
  const library = await import("json-p3");
  const { JSONPathEnvironment, jsonpath } = library;
  const environment = new JSONPathEnvironment({ maxRecursionDepth: maxDepth });
  environment.functionRegister.set(
    "search",
    new jsonpath.functions.Search({ iRegexpCheck: false }),
  );
  const query = environment.compile(text);
  return {
    text: `$${segmentsText(query, library)}`,
    find: (claims) => query.query(claims as JsonValue).nodes[0]?.value,
  };
}

type JsonValue = Parameters<JSONPathQuery["query"]>[0];

/** The JSONPath library. The service loads it only for paths that need it. */
type JsonPathLibrary = typeof import("json-p3");

type Selector = InstanceType<typeof jsonpath.JSONPathSelector>;
type Segment = InstanceType<typeof jsonpath.JSONPathSegment>;
type Expression = InstanceType<typeof jsonpath.expressions.FilterExpression>;

/**
 * Writes the segments of a path. Names keep dots or brackets, texts have single quotes, slices have a step,
 * and numbers in filters have a decimal point. Filters have only the necessary parentheses.
 */
function segmentsText({ segments }: JSONPathQuery, library: JsonPathLibrary): string {
  return segments.map((segment) => segmentText(segment, library)).join("");
}

function segmentText({ token, selectors }: Segment, library: JsonPathLibrary): string {
  const kinds = library.TokenKind;
  const descends = token.kind === kinds.DDOT;
  const first = selectors[0]?.token;
  if (first?.kind === kinds.NAME) return `${descends ? ".." : "."}${first.value}`;
  if (token.kind === kinds.WILD) return ".*";
  const inside = selectors.map((selector) => selectorText(selector, library)).join(",");
  return `${descends ? ".." : ""}[${inside}]`;
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
