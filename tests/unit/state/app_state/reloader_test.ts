import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { Reloader } from "../../../../src/state/app_state/reloader.ts";
import { fakeClock, settled } from "../../../support/timing/fake_clock.ts";

/** Makes a reloader whose loads end by `end`. */
function controlled(
  { isRetried = () => true, sharing = "shared" }: {
    readonly isRetried?: () => boolean;
    readonly sharing?: "shared" | "unshared";
  } = {},
) {
  const pending: { readonly succeed: () => void; readonly fail: () => void }[] = [];
  const retries: number[] = [];
  const clock = fakeClock();
  const reloader = new Reloader({
    load: () =>
      new Promise<void>((resolve, reject) =>
        void pending.push({ succeed: resolve, fail: () => reject(new Error("no")) })
      ),
    isRetried,
    onRetry: (seconds) => void retries.push(seconds),
    now: clock.now,
    schedule: clock.schedule,
    sharing,
  });
  const end = async (how: "succeed" | "fail") => {
    pending.at(-1)![how]();
    await settled();
  };
  return { reloader, retries, clock, end, loads: () => pending.length };
}

Deno.test("Reloader.request() merges requests during a load and within 100 ms after it", async () => {
  const { reloader, clock, end, loads } = controlled();
  const ended: string[] = [];
  const request = (name: string) => void reloader.request().then(() => void ended.push(name));
  request("first");
  request("during");
  request("during, too");
  strictEqual(loads(), 1);
  await end("succeed");
  deepStrictEqual([loads(), ended], [1, ["first"]]);
  await clock.pass(99);
  request("soon after");
  strictEqual(loads(), 1);
  await clock.pass(1);
  strictEqual(loads(), 2);
  await end("succeed");
  deepStrictEqual(ended.toSorted(), ["during", "during, too", "first", "soon after"]);
  await clock.pass(10_000);
  strictEqual(loads(), 2);
});

Deno.test("Reloader.request() loads at once later than 100 ms after a load", async () => {
  const { reloader, clock, end, loads } = controlled();
  reloader.request();
  await end("succeed");
  await clock.pass(40);
  reloader.request();
  strictEqual(clock.next(), 60);
  await clock.pass(60);
  strictEqual(loads(), 2);
  await end("succeed");
  await clock.pass(100);
  reloader.request();
  strictEqual(loads(), 3);
  await end("succeed");
});

Deno.test("Reloader.request() never loses the last request", async () => {
  const { reloader, clock, end, loads } = controlled();
  reloader.request();
  for (let burst = 2; burst < 5; burst++) {
    for (let requests = 0; requests < 50; requests++) reloader.request();
    await end(burst % 2 === 0 ? "succeed" : "fail");
    await clock.pass(100);
    strictEqual(loads(), burst);
  }
  await end("succeed");
  await clock.pass(100_000);
  strictEqual(loads(), 4);
});

Deno.test("Reloader retries after 1, 2, 4, 8, 16, 32, 32 … seconds, and returns the seconds left", async () => {
  const { reloader, retries, clock, end, loads } = controlled();
  reloader.request();
  strictEqual(reloader.secondsLeft(), null);
  for (const seconds of [1, 2, 4, 8, 16, 32, 32, 32]) {
    await end("fail");
    deepStrictEqual([retries.at(-1), reloader.secondsLeft()], [seconds, seconds]);
    await clock.pass(seconds * 1000 - 500);
    strictEqual(reloader.secondsLeft(), 1);
    const before = loads();
    await clock.pass(500);
    strictEqual(loads(), before + 1);
  }
  await end("succeed");
  strictEqual(reloader.secondsLeft(), null);
  await clock.pass(1000);
  reloader.request();
  await end("fail");
  strictEqual(retries.at(-1), 1);
});

Deno.test("Reloader.request() does not wait for a retry", async () => {
  const { reloader, clock, end, loads } = controlled();
  reloader.request();
  await end("fail");
  await clock.pass(500);
  reloader.request();
  strictEqual(loads(), 2);
  await end("succeed");
  strictEqual(clock.next(), null);
});

Deno.test("Reloader.recover() does nothing during a load, before a retry, and soon after a recovery", async () => {
  const { reloader, clock, end, loads } = controlled();
  reloader.recover();
  reloader.recover();
  strictEqual(loads(), 1);
  await end("fail");
  reloader.recover();
  strictEqual(loads(), 1);
  await clock.pass(1000);
  strictEqual(loads(), 2);
  await end("succeed");
  await clock.pass(1999);
  reloader.recover();
  strictEqual(loads(), 2, "requests on old connections fail");
  await clock.pass(1);
  reloader.recover();
  strictEqual(loads(), 3);
});

Deno.test("Reloader schedules no retry if isRetried() returns false", async () => {
  const { reloader, retries, clock, end, loads } = controlled({ isRetried: () => false });
  reloader.request();
  await end("fail");
  deepStrictEqual([retries, clock.next()], [[], null]);
  await clock.pass(100);
  reloader.request();
  strictEqual(loads(), 2);
});

Deno.test("Reloader.stop() cancels scheduled loads and settles their requests", async () => {
  const { reloader, clock, end, loads } = controlled();
  reloader.request();
  await end("succeed");
  const waiting = reloader.request();
  reloader.stop();
  await waiting;
  await reloader.request();
  await clock.pass(100_000);
  strictEqual(loads(), 1);
});

Deno.test("Reloader without sharing loads once for each request, and ignores failures", async () => {
  const { reloader, retries, end, loads } = controlled({ sharing: "unshared" });
  const first = reloader.request();
  await end("fail");
  const second = reloader.request();
  await end("fail");
  await Promise.all([first, second]);
  reloader.recover();
  deepStrictEqual([loads(), reloader.secondsLeft(), retries], [
    2,
    null,
    [],
  ]);
});
