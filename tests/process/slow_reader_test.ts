/** How much memory an answer takes whose client reads nothing at first, and whether others are answered. */
import { ok, strictEqual } from "node:assert/strict";
import { engines } from "../support/database/engines.ts";
import { requestBytes } from "../support/clients/http_connection.ts";
import { startService } from "../support/server/process.ts";
import { memoryOf, resetPeak } from "../support/server/process_memory.ts";

/** 8 MiB of the body stay in memory. The rest is what the runtime takes when it first does all this. */
const allowed = 50_000_000;
const types = ["application/json", "application/x-ndjson", "text/csv"];

Deno.test({
  name: "an answer of 200 MB waits for its reader in 50 MB of memory, and keeps no connection",
  ignore: Deno.build.os !== "linux",
  async fn(t) {
    await using resources = new AsyncDisposableStack();
    const database = await engines.pg({ name: "rows_form", roles: ["anon"] });
    resources.defer(() => database.remove());
    await using service = await startService({
      "db-uri": database.uri,
      "db-schemas": "api",
      "db-anon-role": "anon",
      "db-pool": 1,
      "db-pool-acquisition-timeout": 600,
    });
    await service.listening();
    const answersOther = async () => {
      const response = await service.fetch("GET /numbers?id=eq.1&select=id");
      strictEqual(await response.text(), '[{"id":1}]');
    };
    await answersOther();
    const before = await memoryOf(service.pid, "VmRSS");
    for (const type of types) {
      await t.step(type, async () => {
        await resetPeak(service.pid);
        using client = await Deno.connect({ port: Number(new URL(service.origin).port) });
        const headers = { Accept: type, Connection: "close" };
        await client.write(requestBytes("GET /huge", { headers }));
        const buffer = new Uint8Array(64 * 1024);
        let bytes = await client.read(buffer) ?? 0;
        await answersOther();
        for (let read; (read = await client.read(buffer)) !== null;) bytes += read;
        ok(bytes > 200_000_000);
        const grown = await memoryOf(service.pid, "VmHWM") - before;
        ok(grown < allowed, `${grown} bytes more`);
      });
    }
  },
});
