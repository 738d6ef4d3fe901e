import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import type { FinishedRequest } from "../../../../src/base/observe/observation.ts";
import { jsonLines } from "../../../../src/base/observe/json_lines.ts";

const { access: jsonAccessLine, diagnostic, query } = jsonLines({
  program: "svc",
  source: "svc.conf",
});
const jsonDiagnosticLine = (event: Parameters<typeof diagnostic>[0]) => diagnostic(event, 0);

const full: FinishedRequest = {
  kind: "request-finished",
  method: "GET",
  target: "/orders?id=eq.7",
  status: 200,
  length: 56,
  role: "clerk",
  client: "127.0.0.1",
  referer: "https://a.example/",
  userAgent: "curl/8.7.1",
  time: Date.UTC(2026, 6, 26, 6, 56, 38, 7),
  durationMs: 1.23456,
  route: "/orders",
  protocol: "HTTP/1.1",
  queueMs: 0,
  databaseMs: 0.9,
  requestId: "r-1",
  traceId: "a".repeat(32),
  spanId: "b".repeat(16),
  code: "42501",
};

Deno.test("jsonAccessLine() writes all members in a fixed order", () => {
  strictEqual(
    jsonAccessLine(full),
    '{"time":"2026-07-26T06:56:38.007Z","level":"info","client":"127.0.0.1","role":"clerk",' +
      '"method":"GET","target":"/orders?id=eq.7","route":"/orders","protocol":"HTTP/1.1",' +
      '"status":200,"bytes":56,"duration_ms":1.235,"queue_ms":0,"db_ms":0.9,' +
      '"referer":"https://a.example/","user_agent":"curl/8.7.1","request_id":"r-1",' +
      `"trace_id":"${full.traceId}","span_id":"${full.spanId}","code":"42501"}`,
  );
});

Deno.test("jsonAccessLine() leaves out members without a value", () => {
  const bare: FinishedRequest = {
    ...full,
    length: null,
    role: null,
    client: null,
    referer: null,
    userAgent: null,
    protocol: null,
    queueMs: null,
    databaseMs: null,
    requestId: null,
    traceId: null,
    spanId: null,
    code: null,
  };
  strictEqual(
    jsonAccessLine(bare),
    '{"time":"2026-07-26T06:56:38.007Z","level":"info","method":"GET",' +
      '"target":"/orders?id=eq.7","route":"/orders","status":200,"duration_ms":1.235}',
  );
});

for (const [status, level] of [[200, "info"], [404, "warn"], [500, "error"]] as const) {
  Deno.test(`jsonAccessLine() of ${status} has the level ${level}`, () => {
    strictEqual(JSON.parse(jsonAccessLine({ ...full, status })).level, level);
  });
}

/** Texts of clients, and how they read in the log. */
const hostile: readonly (readonly [sent: string, read: string])[] = [
  ['a"b\\c', 'a"b\\c'],
  ["\0\x01\x1f\x7f\x85", "\0\x01\x1f\x7f\x85"],
  ["line\r\nfeed\u2028\u2029", "line\r\nfeed\u2028\u2029"],
  ["😀 grün 中", "😀 grün 中"],
  ["👩‍👩‍👧 \u{e0041}\u202e", "👩‍👩‍👧 \u{e0041}\u202e"],
  ["\ud800", "\ufffd"],
  ["a\udfffb", "a\ufffdb"],
  ['","status":999,"x":"', '","status":999,"x":"'],
  ["\\u0000", "\\u0000"],
  ["</script><!--", "</script><!--"],
];
for (const [sent, read] of hostile) {
  Deno.test(`jsonAccessLine() keeps ${JSON.stringify(sent)} in its member`, () => {
    const texts = {
      method: sent,
      target: sent,
      role: sent,
      client: sent,
      referer: sent,
      userAgent: sent,
      code: sent,
    };
    const line = jsonAccessLine({ ...full, ...texts });
    ok(!/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u.test(line), line);
    const { method, target, role, client, referer, user_agent, code, status } = JSON.parse(line);
    deepStrictEqual([method, target, role, client, referer, user_agent, code], Array(7).fill(read));
    strictEqual(status, 200);
  });
}

const error = { code: "SVC001", message: "lost", details: "postgres://u:pw@h", hint: null };

Deno.test("jsonDiagnosticLine() writes kind, text and members in a fixed order", () => {
  strictEqual(
    jsonDiagnosticLine({ kind: "listening", what: "api", address: "127.0.0.1:3000" }),
    '{"time":"1970-01-01T00:00:00.000Z","level":"info","event":"listening",' +
      '"message":"API server listening on 127.0.0.1:3000","address":"127.0.0.1:3000","what":"api"}',
  );
  strictEqual(
    jsonDiagnosticLine({ what: "api", address: "a:1", kind: "listening" }),
    jsonDiagnosticLine({ kind: "listening", address: "a:1", what: "api" }),
  );
});

Deno.test("jsonDiagnosticLine() writes one line for an event with two texts", () => {
  const counts = {
    relations: 1,
    relationships: 0,
    functions: 0,
    representations: 0,
    mediaHandlers: 0,
  };
  const line = jsonDiagnosticLine({ kind: "schema-cache-loaded", counts, ms: 2 });
  ok(!line.includes("\n"));
  const { message, counts: { relations }, ms } = JSON.parse(line);
  ok(message.startsWith("Schema cache loaded 1 Relations"));
  ok(message.endsWith("Schema cache loaded in 2.0 milliseconds"));
  deepStrictEqual([relations, ms], [1, 2]);
});

Deno.test("jsonDiagnosticLine() hides passwords in texts and members", () => {
  const line = jsonDiagnosticLine({ kind: "connection-lost", error });
  ok(!line.includes("pw"), line);
  deepStrictEqual(Object.keys(JSON.parse(line)), ["time", "level", "event", "message", "error"]);
  strictEqual(JSON.parse(line).error.code, "SVC001");
});

Deno.test("jsonDiagnosticLine() keeps names in snake case, and its own members", () => {
  const line = jsonDiagnosticLine({
    kind: "schema-cache-failed",
    schemas: ["api\u202e"],
    extraSearchPath: [],
    error,
  });
  deepStrictEqual(
    Object.keys(JSON.parse(line)),
    ["time", "level", "event", "message", "error", "extra_search_path", "schemas"],
  );
  ok(!line.includes("\u202e"));
  const advised = { kind: "error-advised", code: "X", message: "m", advice: "a" } as const;
  strictEqual(JSON.parse(jsonDiagnosticLine(advised)).message, "X m. Hint: a");
});

Deno.test("jsonDiagnosticLine() shows a thrown value in the message alone", () => {
  const line = jsonDiagnosticLine({ kind: "unexpected-error", error: new Error("x") });
  deepStrictEqual(Object.keys(JSON.parse(line)), ["time", "level", "event", "message"]);
});

Deno.test("jsonQueryLine() writes the statement on one line", () => {
  strictEqual(
    query('select "a"\nfrom b', 0),
    '{"time":"1970-01-01T00:00:00.000Z","level":"info","event":"query",' +
      '"message":"select \\"a\\" from b"}',
  );
});
