/** Bodies of more than 4 MiB reach PostgreSQL in several statements of one transaction. */
import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { gzipSync } from "node:zlib";
import { type Api, apiSuite, serviceSuite } from "../support/handler/api.ts";
import { buildRequest } from "../support/handler/request.ts";

const ndjson = "application/x-ndjson";
const csv = "text/csv";
const config = {
  dbSchemas: ["api"],
  dbAnonRole: "anon",
  dbTxEnd: "commit-allow-override",
} as const;
const suite = apiSuite("divided_bodies", config);
const server = serviceSuite("divided_bodies", config, { title: "divided_bodies on a server" });

/** The service divides and checks bodies before any engine has them: one of each kind runs on both. */
const onBoth: ReadonlySet<string> = new Set([
  "JSON",
  "CSV",
  ndjson,
  "return=representation",
  "cut in a row",
  "wrong type in the last row",
  "policy in the last row",
  "deferred constraint",
]);
const suiteOf = (label: string) => onBoth.has(label) ? suite : server;

interface Row {
  readonly id: number;
  readonly note: string;
}

/** 4.8 MB of rows, whose notes contain what a cut could damage. */
const note = `"\\,]}[{\n\u{1F600}é`.repeat(40) + "x".repeat(300);
const rows: readonly Row[] = Array.from({ length: 6000 }, (_, id) => ({ id, note }));
const last = rows.length - 1;

/** The rows with one of them changed. */
function withRow(at: number, row: object): readonly object[] {
  return rows.map((other, index) => index === at ? row : other);
}

function lines(values: readonly unknown[]): string {
  return values.map((row) => `${JSON.stringify(row)}\n`).join("");
}

function quoted(text: string): string {
  return `"${text.replaceAll('"', '""')}"`;
}

function csvLines(values: readonly Row[], lineEnd = "\n"): string {
  return ["id,note", ...values.map(({ id, note }) => `${id},${quoted(note)}`)].join(lineEnd);
}

interface Summary {
  readonly count: number;
  /** Number of statements that wrote rows. */
  readonly statements: number;
}

/** Counts the rows of a table, checks their notes, and deletes them. */
async function takeRows(api: Api, relation: string): Promise<Summary> {
  const response = await api("POST /rpc/take_rows", { body: { relation, note } });
  const { complete, ...summary } = await response.json();
  strictEqual(complete, true);
  return summary;
}

async function post(
  api: Api,
  target: string,
  body: string | Uint8Array,
  headers: Record<string, string> = {},
) {
  const response = await api(`POST ${target}`, {
    body,
    headers: { "Content-Type": "application/json", ...headers },
  });
  return { status: response.status, headers: response.headers, body: await response.text() };
}

/** A label, the body, and its headers. */
const bodies: readonly (readonly [string, string | Uint8Array, Record<string, string>])[] = [
  ["JSON", JSON.stringify(rows), {}],
  ["JSON with blanks", ` \n${JSON.stringify(rows, null, "\t")}\r\n`, {}],
  ["JSON with a mark", `\ufeff${JSON.stringify(rows)}`, {}],
  ["ndjson", lines(rows), { "Content-Type": ndjson }],
  ["ndjson with CRLF", lines(rows).replaceAll("\n", "\r\n\r\n"), { "Content-Type": ndjson }],
  ["CSV", csvLines(rows), { "Content-Type": csv }],
  ["CSV with CRLF", csvLines(rows, "\r\n"), { "Content-Type": csv }],
  ["gzip", new Uint8Array(gzipSync(JSON.stringify(rows))), { "Content-Encoding": "gzip" }],
];

for (const [label, body, headers] of bodies) {
  suiteOf(label).test(`a long body is divided: ${label}`, async (api) => {
    const answer = await post(api, "/loads", body, headers);
    deepStrictEqual({ status: answer.status, body: answer.body }, { status: 201, body: "" });
    // The settings of the response are those of the last row.
    strictEqual(answer.headers.get("X-Last"), String(last));
    const { count, statements } = await takeRows(api, "loads");
    strictEqual(count, rows.length);
    ok(statements >= 2 && statements <= 6, `${statements}`);
  });
}

server.test("a long body with columns is divided, and rows may have other keys", async (api) => {
  const body = JSON.stringify(withRow(3, { id: 3, note, more: 1 }));
  const missing = { Prefer: "missing=default" };
  strictEqual((await post(api, "/loads?columns=id,note,kind", body, missing)).status, 201);
  deepStrictEqual(await (await api("GET /loads?kind=neq.plain&select=id")).json(), []);
  ok((await takeRows(api, "loads")).statements > 1);
});

suite.test("the number of rows is that of all statements", async (api) => {
  const answer = await post(api, "/loads", JSON.stringify(rows), { Prefer: "count=exact" });
  strictEqual(answer.headers.get("Content-Range"), `*/${rows.length}`);
  await takeRows(api, "loads");
});

server.test("rows that exist are skipped in every statement", async (api) => {
  const Prefer = "resolution=ignore-duplicates, count=exact";
  strictEqual((await post(api, "/loads", JSON.stringify([rows[0]]))).status, 201);
  const twice = JSON.stringify([...rows, rows[5]]);
  const answer = await post(api, "/loads", twice, { Prefer });
  strictEqual(answer.headers.get("Content-Range"), `*/${rows.length - 1}`);
  const { count, statements } = await takeRows(api, "loads");
  strictEqual(count, rows.length);
  ok(statements > 2);
});

suite.test("tx=rollback writes nothing", async (api) => {
  const answer = await post(api, "/loads", JSON.stringify(rows), { Prefer: "tx=rollback" });
  strictEqual(answer.status, 201);
  strictEqual((await takeRows(api, "loads")).count, 0);
});

/** What keeps a body whole: a table or a preference. */
const whole: readonly (readonly [target: string, headers: Record<string, string>])[] = [
  ["/watched_rows", {}],
  ["/watched_statements", {}],
  ["/shown", {}],
  ["/loads", { Prefer: "return=representation" }],
  ["/loads", { Prefer: "resolution=merge-duplicates" }],
  ["/loads", { Prefer: "return=headers-only" }],
];

for (const [target, headers] of whole) {
  suiteOf(headers["Prefer"] ?? target).test(
    `a long body stays whole: ${target} ${headers["Prefer"] ?? ""}`,
    async (api) => {
      strictEqual((await post(api, target, JSON.stringify(rows), headers)).status, 201);
      const table = target === "/shown" ? "loads" : target.slice(1);
      deepStrictEqual(await takeRows(api, table), { count: rows.length, statements: 1 });
    },
  );
}

/** The format of rows, and their text. */
const longRows: readonly (readonly [type: string, text: (values: readonly unknown[]) => string])[] =
  [["application/json", (values) => JSON.stringify(values)], [ndjson, lines]];

for (const [type, text] of longRows) {
  suiteOf(type).test(`a row of 10 MiB among others is written: ${type}`, async (api) => {
    const long = "y".repeat(10 * 1024 * 1024);
    const body = text([...rows.slice(0, 3000), { id: -5, note: long }, ...rows.slice(3000)]);
    strictEqual((await post(api, "/loads", body, { "Content-Type": type })).status, 201);
    const [row] = await (await api("GET /loads?id=eq.-5&select=note")).json();
    ok(row.note === long);
    await api("DELETE /loads?id=eq.-5");
    strictEqual((await takeRows(api, "loads")).count, rows.length);
  });
}

suite.test("an array of 400,000 elements is written", async (api) => {
  const body = `[${Array.from({ length: 400_000 }, (_, n) => `{"n":${n}}`).join(",")}]`;
  const answer = await post(api, "/numbers", body, { Prefer: "count=exact" });
  strictEqual(answer.status, 201, answer.body);
  strictEqual(answer.headers.get("Content-Range"), "*/400000");
  const last = await api("GET /numbers?order=n.desc&limit=1", {
    headers: { Prefer: "count=exact" },
  });
  strictEqual(last.headers.get("Content-Range"), "0-0/400000");
  deepStrictEqual(await last.json(), [{ n: 399_999 }]);
  strictEqual((await api("DELETE /numbers")).status, 204);
});

server.test("a long last line needs no line feed", async (api) => {
  const long = JSON.stringify({ id: 1, note: "x".repeat(5_000_000) });
  const headers = { "Content-Type": ndjson, "Prefer": "count=exact" };
  for (const [body, range] of [[long, "*/1"], [`{"id":0,"note":""}\n${long}`, "*/2"]] as const) {
    const answer = await post(api, "/loads", body, headers);
    deepStrictEqual([answer.status, answer.headers.get("Content-Range")], [201, range]);
    strictEqual((await api("DELETE /loads")).status, 204);
  }
});

server.test("blanks instead of rows write nothing", async (api) => {
  for (const body of [`[${" ".repeat(5_000_000)}]`, `${" ".repeat(5_000_000)}[]`]) {
    strictEqual((await post(api, "/loads", body)).status, 201);
  }
  strictEqual(
    (await post(api, "/loads", "\n".repeat(5_000_000), { "Content-Type": ndjson })).status,
    201,
  );
  strictEqual((await takeRows(api, "loads")).count, 0);
});

const json = JSON.stringify(rows);
const malformed = "400 SVC102 Empty or invalid json";
const otherKeys = "400 SVC102 All object keys must match";
const changed = (at: number, row: object) => JSON.stringify(withRow(at, row));

/** A label, the body, the status and code of the error with a part of its text, and another request. */
const refusals: readonly (readonly [
  label: string,
  body: string,
  error: string,
  request?: { readonly target?: string; readonly type?: string },
])[] = [
  ["cut", json.slice(0, -1), malformed],
  ["cut in a row", json.slice(0, -9), malformed],
  ["text behind", `${json} x`, malformed],
  ["second array", `${json}[]`, malformed],
  ["NUL", `${json.slice(0, -2)}\0"}]`, malformed],
  ["cut, columns", json.slice(0, -1), malformed, { target: "/loads?columns=id,note" }],
  ["other keys in the last row", changed(last, { id: last }), otherKeys],
  ["no object", changed(5990, [1]), otherKeys],
  [
    "other keys in the last line",
    lines(withRow(last, { id: 1 })),
    `400 SVC102 Line ${rows.length} has other keys than the first line`,
    { type: ndjson },
  ],
  [
    "array line",
    `${lines(rows)}[1]`,
    "400 SVC102 Line 6001 is not one JSON object",
    { type: ndjson },
  ],
  [
    "CSV with a field too few",
    `${csvLines(rows)}\n7`,
    "400 SVC102 All lines must have",
    { type: csv },
  ],
  ["CSV with an open quote", `${csvLines(rows)}\n7,"`, "400 SVC102 quote not closed", {
    type: csv,
  }],
  ["wrong type in the first row", changed(0, { id: "x", note }), "400 22P02 integer"],
  ["wrong type in the middle", changed(3000, { id: "x", note }), "400 22P02 integer"],
  ["wrong type in the last row", changed(last, { id: "x", note }), "400 22P02 integer"],
  ["check", changed(last, { id: -1, note }), "400 23514 check constraint"],
  ["duplicate in another chunk", changed(last, { id: 0, note }), "409 23505 duplicate key"],
  [
    "policy in the last row",
    changed(last, { id: -1, note }),
    "401 42501 row-level security",
    { target: "/guarded" },
  ],
  [
    "deferred constraint",
    JSON.stringify(rows.map(({ id, note }) => ({ id, note, parent: id % (id === last ? 99 : 5) }))),
    "409 23503 foreign key",
    { target: "/children" },
  ],
  [
    "unknown column",
    JSON.stringify(rows.map((row) => ({ ...row, nope: 1 }))),
    "400 SVC204 nope",
  ],
];

for (const [label, body, error, request = {}] of refusals) {
  const { target = "/loads", type = "application/json" } = request;
  suiteOf(label).test(`a long body is refused whole: ${label}`, async (api) => {
    const answer = await post(api, target, body, { "Content-Type": type });
    const [, head, text] = /^(\S+ \S+) (.*)$/.exec(error)!;
    strictEqual(`${answer.status} ${JSON.parse(answer.body).code}`, head, answer.body);
    ok(answer.body.includes(text!), answer.body);
    const path = target.replace(/\?.*/, "");
    deepStrictEqual(await (await api(`GET ${path}?select=id&limit=1`)).json(), []);
  });
}

/** A body that ends with an error, or never, after some chunks. */
function stream(text: string, end: "close" | "error"): ReadableStream<Uint8Array> {
  const bytes = new TextEncoder().encode(text);
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      if (at < bytes.length) controller.enqueue(bytes.slice(at, at += 70_001));
      else if (end === "close") controller.close();
      else controller.error(new Error("gone"));
    },
  });
}

async function postStream(api: Api, body: ReadableStream<Uint8Array>) {
  const headers = { "Content-Type": "application/json" };
  const request = await buildRequest({ line: "POST /loads", origin: "http://x" }, { headers });
  const response = await api.handler(new Request(request, { body }));
  return { status: response.status, body: await response.text() };
}

suite.test("a long body in chunks is divided, and one that breaks off writes nothing", async (api) => {
  strictEqual((await postStream(api, stream(json, "close"))).status, 201);
  strictEqual((await takeRows(api, "loads")).count, rows.length);
  const { status, body } = await postStream(api, stream(json.slice(0, -100), "error"));
  strictEqual(status, 400);
  strictEqual(JSON.parse(body).message, "The body ended early");
  strictEqual((await takeRows(api, "loads")).count, 0);
});

suite.test("a long body is inserted whole in a runtime without files", async (api) => {
  const { getBuiltinModule } = process;
  process.getBuiltinModule = () => undefined;
  try {
    strictEqual((await postStream(api, stream(json, "close"))).status, 201);
    deepStrictEqual(await takeRows(api, "loads"), { count: rows.length, statements: 1 });
    const { status } = await postStream(api, stream(json.slice(0, -100), "error"));
    strictEqual(status, 400);
    const mixed = JSON.stringify(withRow(last, { id: last }));
    ok((await post(api, "/loads", mixed)).body.includes("All object keys must match"));
    strictEqual((await takeRows(api, "loads")).count, 0);
  } finally {
    process.getBuiltinModule = getBuiltinModule;
  }
});
