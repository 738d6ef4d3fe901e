/** Parses a parameter of the query string by a grammar, and words the error if that fails. @module */
import { errors } from "../../../base/errors/catalogue.ts";
import type { ServiceError } from "../../../base/errors/service_error.ts";
import { operators } from "./operators.ts";
import { type ParseFailure, type Production, Scanner } from "./scanner.ts";

export interface Source {
  /** Name of the text, for the error: `filter`, `tree path`, `select parameter`, … */
  readonly what: string;
  readonly raw: string;
  /** The column of the filter. Default: the text contains its name. */
  readonly column?: string;
  /** Whether text after the production is an error. Default: the production decides. */
  readonly isWhole?: boolean;
}

/** Parses a text by a production. Throws `100`. */
export function readText<T>(source: Source, production: Production<T>): T {
  return readFrom(new Scanner(source.raw), source, production);
}

/** Continues parsing at the position of a scanner. Throws `100`. */
export function readFrom<T>(scanner: Scanner, source: Source, production: Production<T>): T {
  const read = scanner.read(production);
  if (read === undefined) throw parseError(scanner, source);
  if (source.isWhole === true && !scanner.atEnd) {
    scanner.forget();
    scanner.read((end) => end.failAtEnd([]));
    throw parseError(scanner, source);
  }
  return read;
}

/** Returns the error of a text that does not match. Columns count characters from 1. */
export function parseError(scanner: Scanner, source: Source): ServiceError {
  const failure = scanner.failure();
  return errors.parse({
    what: source.what,
    raw: source.raw,
    column: [...scanner.text.slice(0, failure.at)].length + 1,
    details: wording(failure),
    inWords: problemInWords(failure, scanner.text, source.column),
  });
}

/** `unexpected "x" expecting "a", "b" or letter` */
function wording({ unexpected, endExpected, expected, rule }: ParseFailure): string {
  if (rule !== null) return rule;
  const quote = endExpected ? "'" : '"';
  const actual = unexpected === null ? "end of input" : quoted(unexpected, quote);
  const labels = [...new Set(expected)];
  const last = labels.pop();
  if (last === undefined) return `unexpected ${actual}`;
  const wanted = labels.length === 0 ? last : `${labels.join(", ")} or ${last}`;
  return `unexpected ${actual} expecting ${wanted}`;
}

const escapes: ReadonlyMap<string, string> = new Map([
  ["\\", "\\\\"],
  ["\n", "\\n"],
  ["\r", "\\r"],
  ["\t", "\\t"],
]);

/** Returns a character in quotes. A character other than printable ASCII is its decimal number. */
function quoted(character: string, quote: string): string {
  const code = character.codePointAt(0) ?? 0;
  const text = character === quote
    ? `\\${quote}`
    : escapes.get(character) ?? (code < 0x20 || code > 0x7e ? `\\${code}` : character);
  return quote + text + quote;
}

/** Returns for example `price lacks an operator`; null if the parser's message is better. For a
 * group, the result names the column. */
function problemInWords(
  { at, unexpected, expected, rule }: ParseFailure,
  text: string,
  column: string | undefined,
): string | null {
  if (rule !== null) return rule;
  const expects = (start: string) => expected.some((label) => label.startsWith(start));
  const place = unexpected === null ? "at the end" : `before ${text.slice(at, at + 10)}`;
  if (expects("operator (")) return operatorProblem(text, at, column);
  if (expects("isVal")) return "is takes null, not_null, true, false or unknown";
  if (expects('"("')) return `a ( is missing ${place}`;
  if (expects("delimiter (.)")) return `a . is missing ${place}`;
  if (expects('")"') && unexpected === null) return "a ) is missing";
  if (expects('"nullsfirst"')) return "order takes asc, desc, nullsfirst and nullslast";
  const isName = expects("field name (") || expects("any non reserved");
  return isName ? `a name is missing ${place}` : null;
}

/** Returns the problem of an operator: absent, unknown, or not followed by a dot. */
function operatorProblem(text: string, at: number, column: string | undefined): string {
  const [head = "", name = ""] = column === undefined
    ? /^.*[(,]\s*([^(),.]*)\.?/s.exec(text.slice(0, at)) ?? []
    : [];
  const [not = ""] = /^not\./.exec(text.slice(head.length)) ?? [];
  const start = head.length + not.length;
  const [word = ""] = /^[A-Za-z_]+/.exec(text.slice(start)) ?? [];
  const isUnknown = word !== "" && !operators.has(word) && text[start + word.length] === ".";
  if (isUnknown) return `${word} is not an operator`;
  return at > start
    ? `a . is missing behind ${text.slice(start, at)}`
    : `${column ?? name} lacks an operator`;
}
