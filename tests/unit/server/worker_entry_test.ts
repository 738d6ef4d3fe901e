/** A thread of its own that cannot serve. */
import { deepStrictEqual, match, ok } from "node:assert/strict";
import type { WorkerMessage } from "../../../src/server/workers/messages.ts";

Deno.test("a worker that cannot serve reports why, and ends", async () => {
  const entry = new URL("../../../src/server/workers/worker_entry.ts", import.meta.url);
  const worker = new Worker(entry, { type: "module" });
  const received: WorkerMessage[] = [];
  const failed = new Promise<void>((resolve) => {
    worker.onmessage = ({ data }: MessageEvent<WorkerMessage>) => {
      received.push(data);
      if (data.kind === "loaded") worker.postMessage({ kind: "serve", task: { state: {} } });
      else resolve();
    };
  });
  await failed;
  worker.terminate();
  const [, failure] = received;
  deepStrictEqual(received.map(({ kind }) => kind), ["loaded", "failed"]);
  ok(failure?.kind === "failed");
  match(failure.reason!, /undefined/);
});
