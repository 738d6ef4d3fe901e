/** How much memory a large binary body takes on its way out. */
import { ok, strictEqual } from "node:assert/strict";
import { engines } from "../support/database/engines.ts";
import { startService } from "../support/server/process.ts";
import { memoryOf, resetPeak } from "../support/server/process_memory.ts";

/** Sizes of bodies in megabytes, and how often each is asked for. */
const bodies: readonly (readonly [megabytes: number, turns: number])[] = [[10, 20], [200, 1]];
/** What the runtime keeps of pieces that have passed, until it cleans up. */
const allowed = 150_000_000;

async function countBytes(body: ReadableStream<Uint8Array>): Promise<number> {
  let bytes = 0;
  for await (const chunk of body) bytes += chunk.length;
  return bytes;
}

Deno.test({
  name: "bytea goes out as it comes: 200 MB, in one body or in twenty, in 150 MB of memory",
  ignore: Deno.build.os !== "linux",
  async fn() {
    await using resources = new AsyncDisposableStack();
    const database = await engines.pg({ name: "representations", roles: ["anon", "writer"] });
    resources.defer(() => database.remove());
    await using service = await startService({
      "db-uri": database.uri,
      "db-schemas": "api",
      "db-anon-role": "anon",
    });
    await service.listening();
    const get = async (bytes: number) => {
      const response = await fetch(`${service.origin}/rpc/big?size=${bytes}`, {
        headers: { Accept: "application/octet-stream" },
      });
      strictEqual(response.status, 200);
      strictEqual(response.headers.get("Content-Type"), "application/octet-stream");
      strictEqual(response.headers.get("Content-Length"), String(bytes));
      strictEqual(await countBytes(response.body!), bytes);
    };
    for (let turn = 0; turn < 20; turn++) await get(200_000);
    const before = await memoryOf(service.pid, "VmRSS");
    for (const [megabytes, turns] of bodies) {
      await resetPeak(service.pid);
      for (let turn = 0; turn < turns; turn++) await get(megabytes * 1_000_000);
      const grown = await memoryOf(service.pid, "VmHWM") - before;
      ok(grown < allowed, `${megabytes} MB: ${grown} bytes more`);
    }
  },
});
