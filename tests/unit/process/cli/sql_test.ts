import { deepStrictEqual } from "node:assert/strict";
import { resultText } from "../../../../src/process/cli/sql.ts";
import { failureLines } from "../../../../src/database/connection/sql_session.ts";
import type {
  StatementFailure,
  StatementResult,
} from "../../../../src/database/connection/sql_session.ts";

function result(parts: Partial<StatementResult>): StatementResult {
  return { columns: null, rows: [], copied: "", tag: "SELECT 0", ...parts };
}

const rows = result({ columns: ["id", "tïtle"], rows: [["1", "a\nb"], ["20", null]] });

/** A result, its table and its CSV. */
const texts: readonly (readonly [result: StatementResult, table: string, csv: string])[] = [
  [rows, " id | tïtle\n----+-------\n 1  | a\\nb\n 20 |\n(2 rows)\n", 'id,tïtle\n1,"a\nb"\n20,\n'],
  [
    result({ columns: ["a"], rows: [["\x1b[31m"]] }),
    " a\n----------\n \\x1b[31m\n(1 row)\n",
    "a\n\x1b[31m\n",
  ],
  [result({ columns: ["a"] }), " a\n---\n(0 rows)\n", "a\n"],
  [
    result({ columns: ['a"b'], rows: [[""], ["x,y"]] }),
    ' a"b\n-----\n\n x,y\n(2 rows)\n',
    '"a""b"\n""\n"x,y"\n',
  ],
  [result({ tag: "INSERT 0 1" }), "INSERT 0 1\n", ""],
  [result({ copied: "1\t2\n", tag: "COPY 1" }), "1\t2\n", "1\t2\n"],
];

for (const [each, table, csv] of texts) {
  Deno.test(`resultText() writes ${JSON.stringify(table)}`, () => {
    deepStrictEqual([resultText(each, "table"), resultText(each, "csv")], [table, csv]);
  });
}

const failure: StatementFailure = {
  sqlstate: "42601",
  message: "no\nway",
  detail: null,
  hint: null,
  position: null,
};
const text = "select 1;\n\n-- third\n  select 2;";

/** A failure after a number of statements, and its lines. */
const failures: readonly (readonly [
  failure: StatementFailure | null,
  completed: number,
  lines: readonly string[],
])[] = [
  [null, 0, []],
  [failure, 0, ["my.sql:1: no\\nway"]],
  [failure, 1, ["my.sql:4: no\\nway"]],
  [failure, 9, ["my.sql:4: no\\nway"]],
  [{ ...failure, position: 12 }, 0, ["my.sql:3:1: no\\nway"]],
  [{ ...failure, detail: "d", hint: "h" }, 0, ["my.sql:1: no\\nway", "DETAIL: d", "HINT: h"]],
];

for (const [each, completed, lines] of failures) {
  Deno.test(`failureLines() writes ${JSON.stringify(lines)}`, () => {
    const results = Array<StatementResult>(completed).fill(result({}));
    const run = { results, failure: each, notices: [] };
    deepStrictEqual(failureLines(run, { text, name: "my.sql" }), lines);
  });
}
