import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { engines } from "../support/database/engines.ts";
import { startService } from "../support/server/process.ts";
import { receiveSpans, type Span } from "../support/server/span_receiver.ts";
import { signToken, testSecret } from "../support/handler/token.ts";

const fixture = { name: "serving", roles: ["web_anon"] };
const stages = ["jwt", "parse", "plan", "transaction", "response"];

/** The spans of the stages of the only request. */
function stagesOf(spans: readonly Span[]): readonly Span[] {
  return spans.filter(({ name }) => stages.includes(name));
}

Deno.test("with OTEL_DENO the stages are spans within the request's", async () => {
  const database = await engines.pg(fixture);
  await using receiver = receiveSpans();
  try {
    await using service = await startService({
      "db-uri": database.uri,
      "db-schemas": "api",
      "db-anon-role": "web_anon",
      "jwt-secret": testSecret,
      "server-host": "127.0.0.1",
      "log-level": "info",
      "log-format": "json",
    }, { env: receiver.env });
    await service.listening();
    const token = await signToken({ role: "web_anon" });
    const headers = { Authorization: `Bearer ${token}` };
    strictEqual((await service.fetch("GET /items?id=eq.1", { headers })).status, 200);
    await receiver.waitFor((spans) => stagesOf(spans).length === stages.length);
    await receiver.waitFor((spans) => spans.some(({ kind }) => kind === 2));

    const found = stagesOf(receiver.spans)
      .toSorted((one, other) =>
        Number(BigInt(one.endTimeUnixNano) - BigInt(other.endTimeUnixNano))
      );
    deepStrictEqual(found.map(({ name }) => name), stages);
    const request = receiver.spans.find(({ spanId }) => spanId === found[0]!.parentSpanId)!;
    strictEqual(request.kind, 2);
    strictEqual(request.name, "GET");
    for (const [position, span] of found.entries()) {
      strictEqual(span.parentSpanId, request.spanId);
      strictEqual(span.traceId, request.traceId);
      const before = found[position - 1];
      if (before) ok(BigInt(span.startTimeUnixNano) >= BigInt(before.startTimeUnixNano));
      ok(BigInt(span.endTimeUnixNano) >= BigInt(span.startTimeUnixNano));
    }
    const logged = JSON.parse(await service.stdout.waitFor(/"target":"\/items\?id=eq\.1"/));
    deepStrictEqual([logged.trace_id, logged.span_id], [request.traceId, request.spanId]);
    strictEqual((await service.stop()).code, 0);
    const sent = receiver.texts.join("\n");
    const password = new URL(database.uri).password;
    ok(!sent.includes(token) && !sent.includes(testSecret) && !sent.includes("Bearer"));
    ok(!sent.includes(`:${password}@`));
  } finally {
    await database.remove();
  }
});
