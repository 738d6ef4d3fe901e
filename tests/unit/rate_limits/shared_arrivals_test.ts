/** Threads that count in one table. */
import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { ThreadLock } from "../../../src/lib/thread_lock.ts";
import { ArrivalTable, shareArrivals } from "../../../src/rate_limits/arrival_table.ts";

const moduleUrl = (path: string) =>
  JSON.stringify(new URL(`../../../src/${path}`, import.meta.url));

/** A thread that sends requests by a policy, and posts how many were admitted. */
const program = `
import { ArrivalTable } from ${moduleUrl("rate_limits/arrival_table.ts")};
import { prepareRateLimits } from ${moduleUrl("rate_limits/prepare.ts")};
import { Admission } from ${moduleUrl("rate_limits/rate_limiter.ts")};

onmessage = async ({ data: { arrivals, thread, requests } }) => {
  const limits = await prepareRateLimits({
    config: { rateLimits: "a: 1000/1h burst 1000 by ip; b: 3000/1h burst 3000 by all", mcpPath: null },
    previous: null,
    makeTable: () => new ArrivalTable({ now: () => 1, shared: { arrivals, thread } }),
  });
  let admitted = 0;
  for (let request = 0; request < requests; request++) {
    const client = "10.0.0." + request % 4;
    const resource = { method: "GET", path: "/todos" };
    try {
      new Admission({ limits, onRefused() {}, client, resource }).chargeClient();
      admitted++;
    } catch {}
  }
  postMessage(admitted);
};`;

function admittedBy(thread: number, arrivals: ReturnType<typeof shareArrivals>): Promise<number> {
  const url = `data:text/javascript,${encodeURIComponent(program)}`;
  const worker = new Worker(url, { type: "module" });
  return new Promise((resolve) => {
    worker.onmessage = ({ data }) => {
      worker.terminate();
      resolve(data);
    };
    worker.postMessage({ arrivals, thread, requests: 4000 });
  });
}

Deno.test("Admission admits exactly the burst in all threads together", async () => {
  const arrivals = shareArrivals();
  const admitted = await Promise.all([1, 2].map((thread) => admittedBy(thread, arrivals)));
  strictEqual(admitted.reduce((sum, count) => sum + count), 3000);
});

Deno.test("ArrivalTable follows the clock that is ahead", () => {
  const arrivals = shareArrivals();
  const times = [0, 0];
  const [one, other] = [0, 1].map((index) =>
    new ArrivalTable({ now: () => times[index]!, shared: { arrivals, thread: index + 1 } })
  ) as [ArrivalTable, ArrivalTable];
  times[0] = 5;
  deepStrictEqual([one.now(), other.now()], [5001, 5001]);
  times[1] = 6;
  deepStrictEqual([other.now(), one.now()], [6001, 6001]);
  one.set(one.hash("key"), 9);
  strictEqual(other.get(other.hash("key")), 9);
});

Deno.test("ThreadLock.release() releases only the lock of its own thread", () => {
  const word = new Int32Array(new SharedArrayBuffer(4));
  new ThreadLock(word, 2).take();
  new ThreadLock(word, 1).release();
  strictEqual(word[0], 2);
  new ThreadLock(word, 2).release();
  strictEqual(word[0], 0);
});
