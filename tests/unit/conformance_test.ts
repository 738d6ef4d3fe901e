import { deepStrictEqual } from "node:assert/strict";
import { checkCase } from "../conformance/check_case.ts";
import type { Exchange } from "../conformance/table.ts";

/** What the table has, what a server answers, and what differs then. */
type Row = readonly [
  expected: Partial<Exchange>,
  actual: { status?: number; body?: string; headers?: Record<string, string> },
  found: readonly string[],
];

const error = '{"code":"23505","details":null,"hint":"h","message":"m 1"}';
const rows: readonly Row[] = [
  [{}, {}, []],
  [{ status: 201 }, {}, ["status 200 instead of 201"]],
  [{ answerHeaders: [["X-A", "1*"]] }, { headers: { "X-A": "12" } }, []],
  [{ answerHeaders: [["X-A", "1"]] }, {}, ["X-A: absent instead of 1"]],
  [{ answerHeaders: [["X-A", null]] }, { headers: { "X-A": "1" } }, ["X-A: 1 instead of absent"]],
  [{ answer: "" }, { body: "[]" }, ["body [] instead of none"]],
  [{ answer: "*" }, { body: "anything" }, []],
  [{ answer: 'text "a*\\n"' }, { body: "ab\n" }, []],
  [{ answer: 'text "a"' }, { body: "ab" }, ['body ab instead of text "a"']],
  [{ answer: '[{"a":1,"b":"*"}]' }, { body: '[{"b":null,"a":1}]' }, []],
  [{ answer: '[{"a":1}]' }, { body: '[{"a":1,"b":2}]' }, [
    "body [" + '{"a":1,"b":2}] instead of [{"a":1}]',
  ]],
  [{ answer: '[{"a":1,"*":"*"}]' }, { body: '[{"a":1,"b":2}]' }, []],
  [{ answer: '[{"a":"1"}]' }, { body: '[{"a":1}]' }, ['body [{"a":1}] instead of [{"a":"1"}]']],
  [{ answer: '[{"a":1},{"a":2}]' }, { body: '[{"a":2},{"a":1}]' }, []],
  [
    { answer: '[{"a":1},{"a":2}]', path: "/t?order=a" },
    { body: '[{"a":2},{"a":1}]' },
    ['body [{"a":2},{"a":1}] instead of [{"a":1},{"a":2}]'],
  ],
  [
    { answer: '[{"r":[{"a":1},{"a":2}]}]', path: "/t?r.order=a" },
    { body: '[{"r":[{"a":2},{"a":1}]}]' },
    ['body [{"r":[{"a":2},{"a":1}]}] instead of [{"r":[{"a":1},{"a":2}]}]'],
  ],
  [{ answer: "[1,2]" }, { body: "[2,1]" }, ["body [2,1] instead of [1,2]"]],
  [{ answer: "23505 | m * |  | h" }, { body: error }, []],
  [{ answer: "23505" }, { body: error }, []],
  [{ answer: "23505 | m 1" }, { body: error }, [`body ${error} instead of 23505 | m 1`]],
  [{ answer: "23503" }, { body: error }, [`body ${error} instead of 23503`]],
  [{ answer: "[]" }, { body: "no JSON" }, ["body no JSON instead of []"]],
];

for (const [at, [expected, { status = 200, body = "", headers = {} }, found]] of rows.entries()) {
  Deno.test(`checkCase() compares row ${at}: ${JSON.stringify(expected)}`, async () => {
    const exchange: Exchange = {
      method: "GET",
      path: "/t",
      claims: null,
      headers: [],
      body: null,
      status: 200,
      answer: "",
      answerHeaders: [],
      ...expected,
    };
    const send = () => Promise.resolve(new Response(body, { status, headers }));
    const one = { area: "", label: "", exchanges: [exchange] };
    deepStrictEqual(await checkCase(send, one, "http://localhost"), found);
  });
}
