/** Rate limits of the process: exact counts under load, and metrics. */
import { deepStrictEqual, match, strictEqual } from "node:assert/strict";
import { startTodos } from "../support/server/todos.ts";

Deno.test("a policy admits its count exactly, whatever arrives at once", async () => {
  await using service = await startTodos({
    "log-level": "info",
    "rate-limits": "a: 100/1d by ip on /todos; never: 100000/1s by all",
  });
  const statuses = new Map<number, number>();
  const client = async () => {
    for (let time = 0; time < 20; time++) {
      const response = await fetch(`${service.origin}/todos?limit=1`);
      await response.body?.cancel();
      statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1);
    }
  };
  await Promise.all(Array.from({ length: 20 }, client));
  deepStrictEqual([...statuses].sort(), [[200, 100], [429, 300]]);
  const metrics = await (await service.fetchAdmin("GET /metrics")).text();
  match(metrics, /^svc_rate_limited_total\{policy="a"\} 300\.0$/m);
  strictEqual(/policy="never"/.test(metrics), false);
});
