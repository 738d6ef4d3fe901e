/** What finds faults has to find them. */
import { deepStrictEqual } from "node:assert/strict";
import { type Answer, CutError } from "../../support/clients/http_connection.ts";
import { Ledger, type Verdict } from "../../process/faults/ledger.ts";
import { writeProblems } from "../../process/faults/report.ts";
import { Tally } from "../../process/faults/tally.ts";

const outcomes: readonly (readonly [Verdict, copies: number, problem: string | null])[] = [
  ["acknowledged", 1, null],
  ["acknowledged", 0, "1 rows lost"],
  ["acknowledged", 2, "1 rows doubled"],
  ["refused", 0, null],
  ["refused", 1, "1 rows refused but written"],
  ["uncertain", 0, null],
  ["uncertain", 1, null],
  ["uncertain", 2, "1 rows doubled"],
];

for (const [verdict, copies, problem] of outcomes) {
  Deno.test(`Ledger.compare with ${copies} copies of a row that was ${verdict}`, async () => {
    const ledger = new Ledger();
    const mark = ledger.next();
    ledger.note(mark, verdict);
    const rows = copies === 0 ? [] : [{ mark, n: copies }];
    const counts = await ledger.compare({ query: () => Promise.resolve({ rows }) });
    deepStrictEqual(writeProblems(counts), problem === null ? [] : [problem]);
  });
}

function answer(status: number, body: string, headers: Record<string, string> = {}): Answer {
  return { status, body, headers: new Map(Object.entries(headers)) };
}

const lost = '{"code":"SVC001"}';

const answers: readonly (readonly [name: string, Answer | Error, problem: string | null])[] = [
  ["success", answer(200, "[]"), null],
  ["an expected error", answer(503, lost, { "retry-after": "2" }), null],
  ["an error without Retry-After", answer(503, lost), "1 × 503 with Retry-After missing"],
  [
    "an error to be tried at once",
    answer(503, lost, { "retry-after": "0" }),
    "1 × 503 with Retry-After 0",
  ],
  ["another error", answer(500, '{"code":"XX000"}'), '1 × answer 500 XX000 {"code":"XX000"}'],
  ["an error that is no JSON", answer(500, "oh"), "1 × answer 500 without a code oh"],
  ["a cut answer", new CutError(3, "the end"), "1 × answer cut short"],
  ["no answer", new CutError(0, "the end"), "1 × request without an answer"],
];

for (const [name, met, problem] of answers) {
  Deno.test(`Tally.count on ${name}`, async () => {
    const tally = new Tally((status, code) => status === 503 && code === "SVC001");
    await tally.count(() => met instanceof Error ? Promise.reject(met) : Promise.resolve(met));
    deepStrictEqual(tally.problems, problem === null ? [] : [problem]);
  });
}
