/** A thread of its own that cannot serve. */
import { deepStrictEqual, match, ok } from "node:assert/strict";
import type { CallMessage } from "../../../../src/process/server/workers/calls.ts";

Deno.test("a worker that cannot serve reports why", async () => {
  const entry = new URL("../../../../src/process/server/workers/worker_entry.ts", import.meta.url);
  const worker = new Worker(entry, { type: "module" });
  const refused = new Promise<CallMessage>((resolve) => {
    worker.onmessage = ({ data }: MessageEvent<CallMessage>) => resolve(data);
  });
  worker.postMessage({ kind: "call", number: 1, name: "serve", args: [{ state: {} }] });
  const refusal = await refused;
  worker.terminate();
  ok(refusal.kind === "call");
  deepStrictEqual([refusal.number, refusal.name], [0, "refuse"]);
  match(String(refusal.args[0]), /undefined/);
});
