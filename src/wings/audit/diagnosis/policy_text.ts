/** Parses conditions of policies. `pg_get_expr` puts operators in parentheses and writes keywords
 * in capitals. @module */

/** The parts of a condition that do not depend on the row. */
export interface PolicyText {
  /** Number of parts that PostgreSQL computes for each row, although their values do not depend on the row. */
  readonly count: number;
  /** The condition with subqueries for the parts of `count`; null if the meaning could change. */
  readonly wrapped: string | null;
}

/** Names of functions in conditions. `calls` return the same value for each row, `volatile` may not. */
interface PolicyNames {
  readonly calls: ReadonlySet<string>;
  readonly volatile: ReadonlySet<string>;
}

interface Word {
  readonly text: string;
  readonly start: number;
  readonly end: number;
  /** For an opening word such as `(`, the position of the closing word; 0 for other words. */
  close: number;
  use: "column" | "call" | null;
}

type Range = readonly [from: number, to: number];

const identifier = `(?:"(?:[^"]|"")*"|[\\p{L}_][\\p{L}\\p{N}_$]*)`;
const path = `${identifier}(?:\\.${identifier})*`;
const type = `${path}(?:\\(-?\\d+(?:,-?\\d+)?\\)| [a-z]+)*(?:\\[\\])*`;
const wordPattern = new RegExp(
  `'(?:[^']|'')*'|${path}(?:\\.\\*)?|\\d[\\d.]*|::${type}|[-+*/<>=~!@#%^&|\`?]+|\\S`,
  "gu",
);
const separator =
  /^(?:[-+*/<>=~!@#%^&|`?]+|,|AND|OR|NOT|IS|DISTINCT|FROM|UNKNOWN|ANY|ALL|AT|TIME|ZONE|WHEN|THEN|ELSE)$/;
const operandWord =
  /^(?:['\d"\p{Ll}\p{Lo}_()[\].].*|::.*|NULL|TRUE|FALSE|CURRENT_[A-Z]+|SESSION_USER|ARRAY|COALESCE|GREATEST|LEAST|NULLIF|CASE|END)$/su;
const name = /^(?!(?:true|false)$)["\p{Ll}\p{Lo}_]/u;
const brackets: ReadonlyMap<string, string> = new Map([["(", ")"], ["[", "]"], ["CASE", "END"]]);
const maxLength = 10_000;

/** Parses a condition. A condition of more than 10,000 characters has no parts. */
export function readPolicyText(text: string, names: PolicyNames): PolicyText {
  const words = text.length > maxLength ? [] : readWords(text, names);
  const ranges: Range[] = [];
  // A condition with a backslash is not safe: its meaning depends on standard_conforming_strings.
  const isSafe = collectParts(words, [0, words.length], ranges) && !text.includes("\\") &&
    words.every((word) => separator.test(word.text) || operandWord.test(word.text));
  let wrapped = "";
  let written = 0;
  for (const [from, to] of ranges) {
    const [{ start }, { end }] = [words[from]!, words[to - 1]!];
    wrapped += `${text.slice(written, start)}(select ${text.slice(start, end)})`;
    written = end;
  }
  return { count: ranges.length, wrapped: isSafe ? wrapped + text.slice(written) : null };
}

function readWords(text: string, { calls, volatile }: PolicyNames): readonly Word[] {
  const words = [...text.matchAll(wordPattern)].map(({ 0: word, index }): Word => (
    { text: word, start: index, end: index + word.length, close: 0, use: null }
  ));
  const open: { readonly word: Word; readonly at: number }[] = [];
  words.forEach((word, at) => {
    if (brackets.has(word.text)) open.push({ word, at });
    else if (word.text === brackets.get(open.at(-1)?.word.text ?? "")) {
      const opening = open.pop()!;
      opening.word.close = at;
      if (words[opening.at + 1]!.text !== "SELECT") return;
      for (const each of words.slice(opening.at, at)) each.use = null;
      // A subquery is not wrapped again: PostgreSQL evaluates it once, or it uses a column.
      opening.word.use = "column";
    } else if (name.test(word.text) && words[at - 1]?.text !== ".") {
      const isOfRow = words[at + 1]?.text !== "(" || volatile.has(word.text);
      word.use = isOfRow ? "column" : calls.has(word.text) ? "call" : null;
    }
  });
  return words;
}

/** Returns the operands of a range, and the words between them. */
function split(words: readonly Word[], [from, to]: Range) {
  const operands: Range[] = [];
  const separators: string[] = [];
  let first = from;
  for (let at = from; at <= to; at++) {
    const isEnd = at >= to || separator.test(words[at]!.text);
    if (isEnd && at > first) operands.push([first, at]);
    if (isEnd) first = at + 1;
    if (isEnd && at < to) separators.push(words[at]!.text);
    else if (at < to) at = Math.max(at, words[at]!.close);
  }
  return { operands, separators };
}

/** Adds the largest parts of a condition that call functions and read no column to `ranges`.
 * Returns whether subqueries may replace all of them. */
function collectParts(words: readonly Word[], range: Range, ranges: Range[]): boolean {
  const before = ranges.length;
  const { operands, separators } = split(words, range);
  // In CASE, COALESCE and ANY, no part is wrapped: a branch may not run, and ANY reads a subquery as rows.
  const isFixed = /^(ANY|ALL)$/m.test(separators.join("\n")) ||
    words[range[0] - 1]?.text === "CASE" || words[range[0] - 2]?.text === "COALESCE";
  let isSafe = true;
  for (const [from, to] of operands) {
    const uses = new Set(words.slice(from, to).map((word) => word.use));
    if (!uses.has("call")) continue;
    if (!uses.has("column")) ranges.push([from, to]);
    for (let at = from; uses.has("column") && at < to; at = Math.max(at, words[at]!.close) + 1) {
      const inner: Range = [at + 1, words[at]!.close];
      if (inner[1] > 0) isSafe = collectParts(words, inner, ranges) && isSafe;
    }
  }
  return isSafe && !(isFixed && ranges.length > before);
}
