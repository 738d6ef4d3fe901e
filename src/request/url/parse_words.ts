/** Words the problem of a query string that cannot be parsed for its writer. @module */
import { operators } from "./operators.ts";
import type { ParseFailure } from "./scanner.ts";

/**
 * Returns the problem of a text in words: `price lacks an operator`; null if the parser's texts say it best.
 * `column` is that of a filter; in a group of conditions, the text names it.
 */
export function problemInWords(
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

/** The operator is absent, unknown, or has no dot behind it. */
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
