import { deepStrictEqual } from "node:assert/strict";
import { placeAt, statementLines } from "../../../../src/cli/init/statement_lines.ts";

const rows: readonly (readonly [text: string, lines: readonly number[]])[] = [
  ["", []],
  ["-- only; a comment\n", []],
  ["select 1", [1]],
  ["-- first;\nselect 1;\n\n-- second\nselect\n 2;", [2, 5]],
  ["select ';\n';\nselect 2", [1, 3]],
  ["select e'\\';\n';\nselect 2", [1, 3]],
  ['select 1 as "a;\n""";\nselect 2', [1, 3]],
  ["do $svc$ begin\n null; end $svc$;\nselect 2;", [1, 3]],
  ["do $a$ $b$ ; $b$ $$ ; $a$; select 2", [1, 1]],
  ["/* a;\n b */ select 1;\nselect 2", [2, 3]],
];

for (const [text, lines] of rows) {
  Deno.test(`statementLines() returns ${JSON.stringify(lines)} of ${JSON.stringify(text)}`, () => {
    deepStrictEqual(statementLines(text), lines);
  });
}

const places: readonly (readonly [text: string, position: number, place: readonly number[]])[] = [
  ["select", 1, [1, 1]],
  ["a\nbc", 4, [2, 2]],
  // PostgreSQL counts characters, JavaScript UTF-16 units.
  ["😀\n x", 4, [2, 2]],
];

for (const [text, position, place] of places) {
  Deno.test(`placeAt() returns ${place} for ${position} of ${JSON.stringify(text)}`, () => {
    deepStrictEqual(placeAt(text, position), place);
  });
}
