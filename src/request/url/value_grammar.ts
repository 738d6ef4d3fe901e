/** Grammar of values: `price.sub(0.5).round(0)::int`, `tools(price.sum())`. @module */
import { errors } from "../../errors/catalogue.ts";
import { cast, fieldFrom, ident, name } from "./name_grammar.ts";
import { operators } from "./operators.ts";
import type { Scanner } from "./scanner.ts";
import type { Operand, Value, ValueArgument, ValueCall, ValueStep } from "./value_types.ts";

/** The most calls in one value, with those in arguments. */
export const maxCallsOfValue = 8;
/** The most embeds around a value: `a(b(c))` has two. */
export const maxRelatedDepth = 10;

const argumentLabel = ["argument"] as const;
const argumentEnd = ['","', '")"'] as const;
const textEnd = ['"\'"'] as const;
const relatedEnd = ['")"'] as const;

/** `.name(`: the beginning of a call. */
const callStart = /\.([a-z_][a-z0-9_]*)\(/y;

/** Words that no call has as its name, because a group or an operator can follow a name. */
const groupWords: ReadonlySet<string> = new Set(["any", "all", "none"]);

/** Returns true if a cast or a call follows. */
export function seesStep(scanner: Scanner): boolean {
  return scanner.sees("::") || callName(scanner) !== null;
}

/** Returns true if a call follows. An operator with a parenthesis does not count: `a.in.(1)`. */
export function seesCall(scanner: Scanner): boolean {
  return callName(scanner) !== null;
}

function callName({ code, text, position }: Scanner): string | null {
  if (code !== 0x2e) return null;
  callStart.lastIndex = position;
  const found = callStart.exec(text)?.[1] ?? null;
  return found === null || operators.has(found) || groupWords.has(found) ? null : found;
}

/**
 * `steps = [ "::" cast ] *( "." call [ "::" cast ] )`. Throws `177` for more
 * than {@linkcode maxCallsOfValue} calls.
 */
export function steps(scanner: Scanner): readonly ValueStep[] | undefined {
  return stepsWithin(scanner, { calls: 0 });
}

/** Counts the calls of one value. */
interface CallCount {
  calls: number;
}

function stepsWithin(scanner: Scanner, count: CallCount): readonly ValueStep[] | undefined {
  const read: ValueStep[] = [];
  while (seesStep(scanner)) {
    if (read.at(-1)?.kind === "cast" && scanner.sees("::")) break;
    const next = scanner.skip("::") ? castStep(scanner) : call(scanner, count);
    if (next === undefined) return undefined;
    read.push(next);
  }
  return read;
}

function castStep(scanner: Scanner): ValueStep | undefined {
  const type = cast(scanner);
  return type === undefined ? undefined : { kind: "cast", type };
}

/** `call = "." fname "(" [ argument *( "," argument ) ] ")"` */
function call(scanner: Scanner, count: CallCount): ValueCall | undefined {
  const called = callName(scanner)!;
  if (++count.calls > maxCallsOfValue) {
    throw errors.queryTooComplex(maxCallsOfValue, "calls in one value");
  }
  scanner.position += called.length + 2;
  scanner.skipBlanks();
  if (scanner.skip(")")) return { kind: "call", name: called, arguments: [] };
  const read: ValueArgument[] = [];
  do {
    scanner.skipBlanks();
    const next = argument(scanner, count);
    if (next === undefined) return undefined;
    read.push(next);
    scanner.skipBlanks();
  } while (scanner.skip(","));
  return scanner.take(")", argumentEnd)
    ? { kind: "call", name: called, arguments: read }
    : undefined;
}

/** `argument = number / text / "@" ident / value` */
function argument(scanner: Scanner, count: CallCount): ValueArgument | undefined {
  if (scanner.sees("'")) return text(scanner);
  if (scanner.skip("@")) return parameter(scanner);
  const digits = number(scanner);
  if (digits !== null) return { kind: "number", text: digits };
  const start = scanner.position;
  const first = name(scanner);
  if (first === undefined) {
    if (scanner.position === start) {
      scanner.forget();
      scanner.expect(argumentLabel);
    }
    return undefined;
  }
  const read = valueFrom(scanner, first, count);
  return read === undefined ? undefined : { kind: "value", value: read };
}

function parameter(scanner: Scanner): ValueArgument | undefined {
  const read = ident(scanner);
  if (read === undefined) {
    scanner.expect(argumentLabel);
    return undefined;
  }
  return { kind: "parameter", name: read };
}

const numberPattern = /-?[0-9]+(?:\.[0-9]+)?(?=[ \t]*[,)])/y;

/** `number = [ "-" ] 1*DIGIT [ "." 1*DIGIT ]`, before `,` or `)`: null if a value stands here. */
function number(scanner: Scanner): string | null {
  numberPattern.lastIndex = scanner.position;
  const found = numberPattern.exec(scanner.text)?.[0] ?? null;
  if (found !== null) scanner.position += found.length;
  return found;
}

/** `text = "'" *( "''" / any character but "'" ) "'"` */
function text(scanner: Scanner): ValueArgument | undefined {
  const { text } = scanner;
  let read = "";
  let from = scanner.position + 1;
  for (;;) {
    const quote = text.indexOf("'", from);
    if (quote < 0) {
      scanner.position = text.length;
      scanner.expect(textEnd);
      return undefined;
    }
    read += text.slice(from, quote);
    from = quote + 1;
    if (text[from] !== "'") break;
    read += "'";
    from++;
  }
  scanner.position = from;
  return { kind: "text", text: read };
}

/** `value = ( field / "count()" ) steps`, whose name has been read. */
function valueFrom(
  scanner: Scanner,
  first: string,
  count: CallCount = { calls: 0 },
): Value | undefined {
  const field = first === "count" && scanner.skip("()") ? null : fieldFrom(scanner, first);
  if (field === undefined) return undefined;
  const read = stepsWithin(scanner, count);
  if (read === undefined) return undefined;
  scanner.skipBlanks();
  return { field, steps: read };
}

/** `operand = related / value`. Throws `177` for more than {@linkcode maxRelatedDepth} embeds. */
export function operand(scanner: Scanner): Operand | undefined {
  return operandWithin(scanner, 0);
}

function operandWithin(scanner: Scanner, depth: number): Operand | undefined {
  const first = name(scanner);
  if (first === undefined) return undefined;
  if (scanner.sees("(") && !(first === "count" && scanner.sees("()"))) {
    return relatedFrom(scanner, first, depth);
  }
  const read = valueFrom(scanner, first);
  return read === undefined ? undefined : { kind: "value", value: read };
}

/** `related = name "(" operand ")"`, whose name has been read. */
export function relatedFrom(scanner: Scanner, embed: string, depth = 0): Operand | undefined {
  if (depth >= maxRelatedDepth) {
    throw errors.queryTooComplex(maxRelatedDepth, "embeds around one value");
  }
  if (!scanner.skip("(")) return undefined;
  const inner = operandWithin(scanner, depth + 1);
  if (inner === undefined || !scanner.take(")", relatedEnd)) return undefined;
  return { kind: "related", embed, operand: inner };
}
