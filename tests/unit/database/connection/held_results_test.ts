import { strictEqual } from "node:assert/strict";
import type { BodyFraming } from "../../../../src/database/transaction.ts";
import { HeldResults } from "../../../../src/database/connection/held_results.ts";
import { FakeTransport } from "../../../support/database/fake_backend.ts";

const encoder = new TextEncoder();

function held(maxBytes?: number): HeldResults {
  const options = {
    transport: new FakeTransport(),
    mayStream: true,
    freesChunks: false,
    spool: null,
    now: () => 0,
  };
  return new HeldResults(options, maxBytes);
}

/** Receives a result of one row. Returns the code of the error that refuses it; null for none. */
function receive(results: HeldResults, column: string, body: string | null): string | null {
  const length = body === null ? null : encoder.encode(body).length;
  const refused = results.start([column], { length, framing: null });
  if (refused !== null) return refused.fields.code;
  if (body !== null) results.push(encoder.encode(body));
  results.receiver.end();
  return null;
}

const framing: BodyFraming = { separator: ",", closing: "]" };

Deno.test("HeldResults refuses more bytes than all results may have", () => {
  const results = held(10);
  strictEqual(receive(results, "12", "345"), null);
  results.take();
  strictEqual(receive(results, "67", "890"), null);
  results.take();
  strictEqual(receive(results, "1", null), "141");
  // A long value is refused before its bytes arrive.
  strictEqual(receive(held(10), "", "x".repeat(11)), "141");
  const framed = held(6);
  framed.start(["1"], { length: 3, framing });
  framed.push(encoder.encode("[1]"));
  framed.receiver.openRun();
  strictEqual(framed.push(encoder.encode(",2")), null);
  strictEqual(framed.push(encoder.encode(",3"))?.fields.code, "141");
});
