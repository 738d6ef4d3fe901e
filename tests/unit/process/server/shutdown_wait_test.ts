import { deepStrictEqual } from "node:assert/strict";
import { waitBeforeShutdown } from "../../../../src/process/server/api_server.ts";
import { deferred } from "../../../../src/base/lib/deferred.ts";
import { fakeClock, settled } from "../../../support/timing/fake_clock.ts";

/** Begins to wait. Returns what happened so far, in order. */
function waiting(period: number) {
  const clock = fakeClock();
  const cut = deferred<void>();
  const happened: string[] = [];
  const ended = waitBeforeShutdown({
    period,
    appState: { announceShutdown: () => void happened.push("not ready") },
    api: { closeConnections: () => void happened.push("closes") },
    cut: cut.promise,
    observe: (event) => void happened.push(event.kind),
    schedule: clock.scheduleAwaited,
  }).then(() => void happened.push("ended"));
  return { clock, cut, happened, ended };
}

Deno.test("waitBeforeShutdown() closes connections in the second half of the period", async () => {
  const { clock, happened } = waiting(10);
  await clock.pass(4999);
  deepStrictEqual(happened, ["not ready", "shutdown-waiting"]);
  await clock.pass(1);
  deepStrictEqual(happened, ["not ready", "shutdown-waiting", "closes"]);
  await clock.pass(4999);
  deepStrictEqual(happened.length, 3);
  await clock.pass(1);
  deepStrictEqual(happened.at(-1), "ended");
  deepStrictEqual(clock.next(), null);
});

for (const passedMs of [0, 4999, 5000, 9999]) {
  Deno.test(`waitBeforeShutdown() ends at a signal after ${passedMs} ms`, async () => {
    const { clock, cut, happened, ended } = waiting(10);
    await clock.pass(passedMs);
    cut.resolve();
    await ended;
    deepStrictEqual(happened.includes("closes"), passedMs >= 5000);
    deepStrictEqual(clock.next(), null);
  });
}

Deno.test("waitBeforeShutdown() waits for nothing without a period", async () => {
  const { happened } = waiting(0);
  await settled();
  deepStrictEqual(happened, ["ended"]);
});
