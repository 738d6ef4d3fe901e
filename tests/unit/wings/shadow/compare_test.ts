import { deepStrictEqual } from "node:assert/strict";
import { compareAnswers, rowOrder } from "../../../../src/wings/shadow/compare.ts";

/** An answer: a body of JSON, or its parts. */
type Answer = string | {
  readonly status?: number;
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly text: string;
};

interface Row {
  readonly label: string;
  readonly query?: string;
  readonly upstream: Answer;
  readonly own: Answer;
  /** Another answer of the upstream. Default: none, so that nothing is noise. */
  readonly second?: Answer;
  /** Lines `place: upstream, own`. */
  readonly lines: readonly string[];
}

const rows: readonly Row[] = [
  { label: "equal texts", upstream: "[1]", own: "[1]", lines: [] },
  {
    label: "white space, and the order of members",
    upstream: '[{"a":1, \n "b":2}]',
    own: '[{"b":2,"a":1}]',
    lines: [],
  },
  {
    label: "a value",
    upstream: '[{"id":1,"n":1},{"id":2,"n":2}]',
    own: '[{"id":1,"n":1},{"id":2,"n":3}]',
    lines: ["[].n: 2, 3"],
  },
  { label: "a member", upstream: '{"a":1}', own: "{}", lines: [".a: 1, nothing"] },
  { label: "null is a value", upstream: '{"a":null}', own: "{}", lines: [".a: null, nothing"] },
  {
    label: "the name of a member",
    upstream: "{}",
    own: '{"constructor":1}',
    lines: [
      ".constructor: nothing, 1",
    ],
  },
  { label: "an array and an object", upstream: "[]", own: "{}", lines: ["body: [], {}"] },
  {
    label: "long integers",
    upstream: '[{"n":9007199254740993}]',
    own: '[{"n":9007199254740992}]',
    lines: ['[].n: "number 9007199254740993", "number 9007199254740992"'],
  },
  {
    label: "a long integer and its string",
    upstream: '[{"n":9007199254740993}]',
    own: '[{"n":"9007199254740993"}]',
    lines: ['[].n: "number 9007199254740993", "9007199254740993"'],
  },
  {
    label: "long fractions",
    upstream: "0.12345678901234567890",
    own: "0.12345678901234567891",
    lines: ['body: "number 0.12345678901234567890", "number 0.12345678901234567891"'],
  },
  {
    label: "digits in strings",
    upstream: '["\\"1234567890123456789",1]',
    own: '["\\"1234567890123456788",1]',
    lines: ['[]: "\\"1234567890123456789", "\\"1234567890123456788"'],
  },
  {
    label: "escapes, negative zero, and members of one name",
    upstream: '[{"a":"\\u00e9","n":-0,"m":1,"m":2}]',
    own: '[{"a":"é","n":0,"m":2}]',
    lines: [],
  },
  {
    label: "arrays in 1,000 arrays",
    upstream: `${"[".repeat(1000)}1${"]".repeat(1000)}`,
    own: `${"[".repeat(1000)}2${"]".repeat(1000)}`,
    lines: [`${"[]".repeat(61)}: ${`"${"[".repeat(160)}…`.slice(1)}, ${"[".repeat(160)}…`],
  },
  { label: "numbers of one value", upstream: "[1.0]", own: "[1]", lines: [] },
  { label: "rows without an order", upstream: "[1,2,2]", own: "[2,1,2]", lines: [] },
  { label: "a row twice", upstream: "[1,1,2]", own: "[1,2,2]", lines: ["[]: 1, 2"] },
  {
    label: "a missing row",
    upstream: '[{"id":1},{"id":2}]',
    own: '[{"id":1}]',
    lines: ['[]: {"rows":2,"only":{"id":2}}, {"rows":1}'],
  },
  {
    label: "rows in another order",
    query: "order=id",
    upstream: '[{"id":1},{"id":2}]',
    own: '[{"id":2},{"id":1}]',
    lines: ['order of []: {"id":1}, {"id":2}'],
  },
  {
    label: "rows of one key in another order",
    query: "order=n.desc,m.asc.nullslast",
    upstream: '[{"id":1,"n":1,"m":1},{"id":2,"n":1,"m":1},{"id":3,"n":0,"m":1}]',
    own: '[{"id":2,"n":1,"m":1},{"id":1,"n":1,"m":1},{"id":3,"n":0,"m":1}]',
    lines: [],
  },
  {
    label: "keys in another order",
    query: "order=n",
    upstream: '[{"id":1,"n":1},{"id":2,"n":2},{"id":3,"n":2}]',
    own: '[{"id":2,"n":2},{"id":3,"n":2},{"id":1,"n":1}]',
    lines: ['order of []: {"id":1,"n":1}, {"id":2,"n":2}'],
  },
  {
    label: "an order by a column that is not selected",
    query: "select=id&order=n",
    upstream: '[{"id":1},{"id":2}]',
    own: '[{"id":2},{"id":1}]',
    lines: ['order of []: {"id":1}, {"id":2}'],
  },
  {
    label: "embedded rows without an order",
    query: "select=id,notes(id)&order=id",
    upstream: '[{"id":1,"notes":[{"id":1},{"id":2}]}]',
    own: '[{"id":1,"notes":[{"id":2},{"id":1}]}]',
    lines: [],
  },
  {
    label: "embedded rows in another order",
    query: "select=id,notes(id)&notes.order=id",
    upstream: '[{"id":1,"notes":[{"id":1},{"id":2}]}]',
    own: '[{"id":1,"notes":[{"id":2},{"id":1}]}]',
    lines: ['order of [].notes[]: {"id":1}, {"id":2}'],
  },
  {
    label: "the array of a column",
    upstream: '[{"a":[1,2]}]',
    own: '[{"a":[2,1]}]',
    lines: ["order of [].a[]: 1, 2"],
  },
  {
    label: "a status",
    upstream: "[]",
    own: { status: 404, text: '{"code":"42P01","message":"x","hint":null}' },
    lines: ['status: 200, {"status":404,"body":{"code":"42P01","message":"x","hint":null}}'],
  },
  {
    label: "headers that matter",
    upstream: { headers: { "Content-Range": "0-1/*", Date: "1", Server: "1" }, text: "[]" },
    own: { headers: { "Content-Range": "0-1/2", Date: "2", Server: "2" }, text: "[]" },
    lines: ['header Content-Range: "0-1/*", "0-1/2"'],
  },
  {
    label: "white space and case in media types",
    upstream: { type: "application/json; charset=utf-8", text: "[]" },
    own: { type: "application/json;charset=UTF-8", text: "[ ]" },
    lines: [],
  },
  {
    label: "lines of CSV",
    upstream: { type: "text/csv; charset=utf-8", text: "id\n1\n2" },
    own: { type: "text/csv; charset=utf-8", text: "id\n2\n1" },
    lines: [],
  },
  {
    label: "a text",
    upstream: { type: "text/plain", text: "a" },
    own: { type: "text/plain", text: "b" },
    lines: ['body: "a", "b"'],
  },
  {
    label: "noise in a column beside a value",
    upstream: '[{"at":1,"n":1},{"at":2,"n":2}]',
    second: '[{"at":3,"n":1},{"at":4,"n":2}]',
    own: '[{"at":5,"n":1},{"at":6,"n":3}]',
    lines: ["[].n: 2, 3"],
  },
  {
    label: "noise alone",
    query: "order=n",
    upstream: '[{"at":1,"n":1},{"at":2,"n":2}]',
    second: '[{"at":3,"n":1},{"at":4,"n":2}]',
    own: '[{"at":6,"n":1},{"at":5,"n":2}]',
    lines: [],
  },
  { label: "noise in a scalar", upstream: "0.1", second: "0.2", own: "0.3", lines: [] },
  {
    label: "noise in the status and the rest",
    upstream: { status: 503, text: '{"message":"x"}' },
    second: "[1]",
    own: "[1]",
    lines: [],
  },
  {
    label: "rows that are inserted meanwhile",
    upstream: { headers: { "Content-Range": "0-0/1" }, text: "[1]" },
    second: { headers: { "Content-Range": "0-1/2" }, text: "[1,2]" },
    own: { headers: { "Content-Range": "0-1/2" }, text: "[1,2]" },
    lines: [],
  },
  {
    label: "secrets",
    upstream: '[{"refresh_token":"a","note":"eyJhbGciOiJub25lIn0.e30.x"}]',
    own: '[{"refresh_token":"b","note":"n","jwt":1}]',
    lines: [
      "[].refresh_token: ***, ***",
      '[].note: "***", "n"',
      "[].jwt: nothing, ***",
    ],
  },
  {
    label: "secrets in CSV and in headers",
    upstream: { type: "text/csv", headers: { Location: "/a?x=1&apikey=1" }, text: "id,pwd\n1,a" },
    own: { type: "text/csv", headers: { Location: "/a?x=2&apikey=2" }, text: "id,pwd\n1,b" },
    lines: [
      'header Location: "/a?x=1&apikey=***, "/a?x=2&apikey=***',
      "[].id,pwd: ***, ***",
    ],
  },
];

for (const { label, query = "", upstream, own, second, lines } of rows) {
  Deno.test(`compareAnswers() finds differences: ${label}`, () => {
    const order = rowOrder(query);
    const compared = (other: Answer, noise: ReadonlySet<string>) =>
      compareAnswers(answerOf(upstream), answerOf(other), { order, noise });
    const noise = second === undefined ? [] : compared(second, new Set()).keys();
    const found = Array.from(
      compared(own, new Set(noise)),
      ([place, each]) => `${place}: ${each.join(", ")}`,
    );
    deepStrictEqual(found, lines);
  });
}

function answerOf(answer: Answer) {
  const { status = 200, type = "application/json", headers = {}, text } = typeof answer === "string"
    ? { text: answer }
    : answer;
  return { status, headers: new Headers({ "Content-Type": type, ...headers }), text };
}
