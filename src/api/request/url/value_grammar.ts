/** Grammar of values: `price.sub(0.5).round(0)::int`, `tools(price.sum())`. @module */
import { errors } from "../../../base/errors/catalogue.ts";
import { cast, fieldFrom, ident, name } from "./name_grammar.ts";
import { operators } from "./operators.ts";
import type { Scanner } from "./scanner.ts";
import type { Filter } from "./query_types.ts";
import type {
  Field,
  Operand,
  RelatedOperand,
  Value,
  ValueArgument,
  ValueCall,
  ValueStep,
} from "./value_types.ts";

/** Maximum number of calls in one value, including calls in arguments. */
export const maxCallsOfValue = 8;
/** Maximum number of embeds around a value: `a(b(c))` has two. */
export const maxRelatedDepth = 10;

const argumentLabel = ["argument"] as const;
const argumentEnd = ['","', '")"'] as const;
const textEnd = ['"\'"'] as const;
const relatedEnd = ['")"'] as const;

/** `.name(`: the beginning of a call. */
const callStart = /\.([a-z_][a-z0-9_]*)\(/y;

/** Words that cannot be names of calls, because a group or an operator can follow a name. */
const groupWords: ReadonlySet<string> = new Set(["any", "all", "none"]);

/** Returns whether a cast or a call follows. */
function seesStep(scanner: Scanner): boolean {
  return scanner.sees("::") || callName(scanner) !== null;
}

/** Returns whether a call follows. An operator with a parenthesis is not a call: `a.in.(1)`. */
export function seesCall(scanner: Scanner): boolean {
  return callName(scanner) !== null;
}

function callName({ code, text, position }: Scanner): string | null {
  if (code !== 0x2e) return null;
  callStart.lastIndex = position;
  const word = callStart.exec(text)?.[1] ?? null;
  return word === null || operators.has(word) || groupWords.has(word) ? null : word;
}

/** Parses the casts and calls after a field; null means `count()`. */
function stepped(scanner: Scanner, field: Field | null): Operand {
  return { kind: "value", value: { field, steps: steps(scanner) } };
}

export function castSteps(type: string | null): readonly ValueStep[] {
  return type === null ? [] : [{ kind: "cast", type }];
}

interface CallCount {
  calls: number;
}

/**
 * `steps = [ "::" cast ] *( "." call [ "::" cast ] )`. Throws `177` for more
 * than {@linkcode maxCallsOfValue} calls.
 */
export function steps(scanner: Scanner, count: CallCount = { calls: 0 }): readonly ValueStep[] {
  const read: ValueStep[] = [];
  while (seesStep(scanner)) {
    if (read.at(-1)?.kind === "cast" && scanner.sees("::")) break;
    read.push(scanner.skip("::") ? { kind: "cast", type: cast(scanner) } : call(scanner, count));
  }
  return read;
}

/** `call = "." fname "(" [ argument *( "," argument ) ] ")"` */
function call(scanner: Scanner, count: CallCount): ValueCall {
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
    read.push(argument(scanner, count));
    scanner.skipBlanks();
  } while (scanner.skip(","));
  scanner.take(")", argumentEnd);
  return { kind: "call", name: called, arguments: read };
}

/** `argument = number / text / "@" ident / value` */
function argument(scanner: Scanner, count: CallCount): ValueArgument {
  if (scanner.sees("'")) return text(scanner);
  if (scanner.skip("@")) {
    return { kind: "parameter", name: ident(scanner) ?? scanner.fail(argumentLabel) };
  }
  const digits = number(scanner);
  if (digits !== null) return { kind: "number", text: digits };
  const start = scanner.position;
  const first = scanner.read(name);
  if (first !== undefined) return { kind: "value", value: valueFrom(scanner, first, count) };
  if (scanner.position > start) return scanner.fail();
  scanner.forget();
  return scanner.fail(argumentLabel);
}

const numberPattern = /-?[0-9]+(?:\.[0-9]+)?(?=[ \t]*[,)])/y;

/** `number = [ "-" ] 1*DIGIT [ "." 1*DIGIT ]`, before `,` or `)`; null if it is the start of a value. */
function number(scanner: Scanner): string | null {
  numberPattern.lastIndex = scanner.position;
  const match = numberPattern.exec(scanner.text)?.[0] ?? null;
  if (match !== null) scanner.position += match.length;
  return match;
}

/** `text = "'" *( "''" / any character but "'" ) "'"` */
function text(scanner: Scanner): ValueArgument {
  const { text } = scanner;
  let read = "";
  let from = scanner.position + 1;
  for (;;) {
    const quote = text.indexOf("'", from);
    if (quote < 0) {
      scanner.position = text.length;
      return scanner.fail(textEnd);
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

/** `value = ( field / "count()" ) steps`, after its name. */
function valueFrom(scanner: Scanner, first: string, count?: CallCount): Value {
  const field = first === "count" && scanner.skip("()") ? null : fieldFrom(scanner, first);
  const read = steps(scanner, count);
  scanner.skipBlanks();
  return { field, steps: read };
}

/** `operand = related / value`. Throws `177` for more than {@linkcode maxRelatedDepth} embeds. */
export function operand(scanner: Scanner, depth = 0): Operand {
  const first = name(scanner);
  if (scanner.sees("(") && !(first === "count" && scanner.sees("()"))) {
    return relatedFrom(scanner, first, depth);
  }
  return { kind: "value", value: valueFrom(scanner, first) };
}

/** `related = name "(" operand ")"`, after its name. */
export function relatedFrom(scanner: Scanner, embed: string, depth = 0): RelatedOperand {
  if (depth >= maxRelatedDepth) {
    throw errors.queryTooComplex(maxRelatedDepth, "embeds around one value");
  }
  if (!scanner.skip("(")) return scanner.fail();
  const inner = operand(scanner, depth + 1);
  scanner.take(")", relatedEnd);
  return { kind: "related", embed, operand: inner };
}

/** `related / value`, after its first name. */
export function fieldOrOperand(
  scanner: Scanner,
  first: string,
): Pick<Filter, "field" | "operand"> {
  const named = { name: first, path: [] };
  if (first === "count" && scanner.skip("()")) {
    return { field: named, operand: stepped(scanner, null) };
  }
  const related = scanner.sees("(")
    ? scanner.attempt((inner) => relatedFrom(inner, first))
    : undefined;
  if (related !== undefined) return { field: named, operand: related };
  const field = fieldFrom(scanner, first);
  return seesStep(scanner) ? { field, operand: stepped(scanner, field) } : { field };
}
