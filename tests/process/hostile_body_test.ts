/** Bodies that are made to exhaust the service, whose heap is small, while others are answered. */
import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { engines } from "../support/database/engines.ts";
import { type FileConfig, type ServiceProcess, startService } from "../support/server/process.ts";
import { memoryOf, resetPeak } from "../support/server/process_memory.ts";

const encoder = new TextEncoder();
const megabyte = 1_000_000;
/** Megabytes of V8's heap. */
const heap = 96;
/** Resident bytes beside the payload: the heap, and what is on its way in and out. */
const allowed = 250 * megabyte;

/** A body of a beginning, many equal pieces and an end. */
interface Parts {
  readonly start?: string;
  readonly piece: string;
  readonly count: number;
  readonly end?: string;
}

function* chunksOf({ start = "", piece, count, end = "" }: Parts): Generator<Uint8Array> {
  yield encoder.encode(start);
  const each = Math.ceil(100_000 / piece.length);
  const chunk = encoder.encode(piece.repeat(each));
  for (let sent = 0; sent < count; sent += each) {
    yield sent + each <= count ? chunk : encoder.encode(piece.repeat(count - sent));
  }
  yield encoder.encode(end);
}

/** Different names. */
function* fieldsOf(count: number): Generator<Uint8Array> {
  for (let sent = 0; sent < count; sent += 1000) {
    const names = Array.from({ length: 1000 }, (_, at) => `name${sent + at}=x&`);
    yield encoder.encode(names.join(""));
  }
}

const json = "application/json";
const csv = "text/csv";
const form = "application/x-www-form-urlencoded";

/** Name, path, content type, body, status, and code where it is an error. */
type Hostile = readonly [
  name: string,
  path: string,
  type: string,
  body: () => Iterable<Uint8Array>,
  status: number,
  code?: string,
];

const parts = (of: Parts) => () => chunksOf(of);
const million = 1_000_000;

const rows: readonly Hostile[] = [
  [
    "CSV for no table",
    "/nothing",
    csv,
    parts({ start: "a\n", piece: "b\n", count: 6 * million }),
    404,
    "SVC205",
  ],
  ["short lines", "/texts", csv, parts({ start: "a\n", piece: "b\n", count: million }), 201],
  [
    "short lines for a function",
    "/rpc/length_of",
    csv,
    parts({ start: "a\n", piece: "b\n", count: 6 * million }),
    200,
  ],
  [
    "lines of an unknown column",
    "/texts",
    csv,
    parts({ start: "x\n", piece: "b\n", count: 6 * million }),
    400,
    "SVC204",
  ],
  [
    "a line of a million fields",
    "/texts",
    csv,
    parts({ start: "a\n", piece: "b,", count: million }),
    400,
    "SVC102",
  ],
  [
    "a million names",
    "/texts",
    csv,
    parts({ piece: "a,", count: million, end: "\n1\n" }),
    400,
    "SVC102",
  ],
  [
    "a quote left open",
    "/texts",
    csv,
    parts({ start: 'a\n"', piece: "x", count: 25 * million }),
    400,
    "SVC102",
  ],
  [
    "CSV that is no UTF-8 at its end",
    "/texts",
    csv,
    function* () {
      yield* chunksOf({ start: "a\n", piece: "b\n", count: million });
      yield Uint8Array.of(0xff);
    },
    400,
    "SVC102",
  ],
  ["a form of a million names", "/texts", form, () => fieldsOf(million), 413, "SVC130"],
  [
    "a form of one value",
    "/rpc/length_of",
    form,
    parts({ start: "a=", piece: "x", count: 25 * million }),
    413,
    "SVC130",
  ],
  ["brackets", "/texts", json, parts({ piece: "[", count: 12 * million }), 400, "SVC102"],
  [
    "a deep value",
    "/texts",
    json,
    function* () {
      yield* chunksOf({ start: '{"a":', piece: "[", count: 5 * million });
      yield* chunksOf({ piece: "]", count: 5 * million, end: "}" });
    },
    400,
    "SVC102",
  ],
  [
    "a long value",
    "/texts",
    json,
    parts({ start: '{"a":"', piece: "x", count: 25 * million, end: '"}' }),
    201,
  ],
  [
    "a long value of a number",
    "/numbers",
    json,
    parts({ start: '{"n":"', piece: "x", count: 25 * million, end: '"}' }),
    400,
    "22P02",
  ],
  [
    "a long key",
    "/texts",
    json,
    parts({ start: '{"', piece: "x", count: 25 * million, end: '":1}' }),
    400,
    "SVC204",
  ],
  [
    "a key of escapes",
    "/texts",
    json,
    parts({ start: '{"', piece: "\\u0041", count: 10 * million, end: '":1}' }),
    400,
    "SVC204",
  ],
  [
    "one key again and again",
    "/texts",
    json,
    parts({ start: "{", piece: '"a":1,', count: million, end: '"a":1}' }),
    201,
  ],
  ["a long number", "/texts", json, parts({ piece: "1", count: 25 * million }), 201],
  ["a text", "/rpc/whole", "text/plain", parts({ piece: "é", count: 12 * million }), 200],
];

/**
 * Sends short requests, at most {@linkcode minAnswers}, until the other one has its answer. Returns how
 * many were answered.
 */
async function askMeanwhile(service: ServiceProcess, other: Promise<unknown>): Promise<number> {
  let isOver = false;
  let answers = 0;
  other.finally(() => isOver = true).catch(() => {});
  while (!isOver && answers < minAnswers) {
    const response = await service.fetch("GET /numbers?n=eq.1");
    deepStrictEqual(await response.json(), [{ n: 1 }]);
    answers++;
  }
  return answers;
}

/** 36 MB of short lines; the end makes them malformed, so that PostgreSQL gets none. */
const shortLines = parts({ start: "a\n", piece: "b\n", count: 18 * million, end: '"' });
/** Answers to others meanwhile. A service that decodes without pauses gives one or two. */
const minAnswers = 100;

/** Options by the way in which the service accepts connections. */
const modes: Readonly<Record<string, FileConfig>> = {
  "Deno.serve": {},
  "own connections": { "server-header-timeout": 30, "server-idle-timeout": 30 },
};

for (const [mode, limits] of Object.entries(modes)) {
  Deno.test({
    name:
      `bodies that would exhaust a heap of ${heap} MB are answered, and other requests meanwhile: ${mode}`,
    ignore: Deno.build.os !== "linux",
    async fn(t) {
      await using resources = new AsyncDisposableStack();
      const database = await engines.pg({ name: "long_bodies", roles: ["anon", "writer"] });
      resources.defer(() => database.remove());
      await using service = await startService({
        "db-uri": database.uri,
        "db-schemas": "api",
        "db-anon-role": "anon",
        "db-tx-end": "rollback",
        ...limits,
      }, { permissions: ["-A", `--v8-flags=--max-old-space-size=${heap}`] });
      await service.listening();
      const long: Hostile = ["36 MB of short lines", "/texts", csv, shortLines, 400, "SVC102"];
      // The modes differ in how they read the rest of a body that is refused early.
      const sentRows = mode === "Deno.serve" ? [...rows, long] : rows.slice(0, 10);
      for (const [name, path, type, make, status, code] of sentRows) {
        await t.step(name, async () => {
          await service.fetch("GET /numbers");
          const before = await memoryOf(service.pid, "VmRSS");
          await resetPeak(service.pid);
          const sent = fetch(service.origin + path, {
            method: "POST",
            headers: { "Content-Type": type },
            body: ReadableStream.from(make()),
          });
          const answers = await askMeanwhile(service, sent);
          if (make === shortLines) ok(answers >= minAnswers, `${answers} answers`);
          const response = await sent;
          const text = await response.text();
          strictEqual(response.status, status, text.slice(0, 1000));
          if (code !== undefined) strictEqual(JSON.parse(text).code, code);
          ok(text.length < 20_000, `${text.length} characters`);
          const grown = await memoryOf(service.pid, "VmHWM") - before;
          ok(grown < allowed, `${grown} bytes more`);
        });
      }
      strictEqual((await service.stop()).code, 0);
    },
  });
}
