import { deepStrictEqual, strictEqual, throws } from "node:assert/strict";
import { hasStep, isChosen, readTestArguments } from "../../support/runner/row_filter.ts";

const suites = "--filter=/^\\[\\w+\\] /";

const rows: readonly (readonly [args: string, row: string | null, others: string])[] = [
  ["", null, ""],
  ["tests/http --fail-fast", null, "tests/http --fail-fast"],
  ["--row id=eq.1", "id=eq.1", suites],
  ["tests/http --row id=eq.1 --fail-fast", "id=eq.1", `${suites} tests/http --fail-fast`],
  ["tests/http --row=id=eq.1", "id=eq.1", `${suites} tests/http`],
  ["--row a --filter pg", "a", "--filter pg"],
  ["--filter=/pg/ --row a", "a", "--filter=/pg/"],
];

for (const [args, row, others] of rows) {
  Deno.test(`readTestArguments() reads ${args === "" ? "no arguments" : args}`, () => {
    const words = (text: string) => (text === "" ? [] : text.split(" "));
    const read = readTestArguments(words(args));
    deepStrictEqual([read.row, read.others.join(" ")], [row, others]);
  });
}

for (const args of [["--row"], ["--row="], ["--row", ""]]) {
  Deno.test(`readTestArguments() refuses ${args.join(" ")} without a text`, () => {
    throws(() => readTestArguments(args), /^Error: --row: expected a part of a row's name$/);
  });
}

Deno.test("isChosen() looks for the text anywhere in the name", () => {
  const name = "order= sorts: GET /todos?order=id";
  const texts = ["", "sorts", "GET /todos", "order=id", "order=task"];
  deepStrictEqual(texts.filter((text) => isChosen(name, text)), texts.slice(0, 4));
});

Deno.test("hasStep() finds the step of a test in a report", () => {
  strictEqual(hasStep('<testcase name="[pg] todos" classname="a &gt; b">'), false);
  strictEqual(hasStep('<testcase name="[pg] todos">\n<testcase name="[pg] a &gt; b">'), true);
});
