import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { Drain } from "../../../../src/process/server/drain.ts";
import { fakeClock, settled } from "../../../support/timing/fake_clock.ts";

/** Makes a drain whose waits end one by one, by `pass`. */
function manualDrain() {
  const waits: (() => void)[] = [];
  const waitedMs: number[] = [];
  const wait = (milliseconds: number) => {
    waitedMs.push(milliseconds);
    return new Promise<void>((resolve) => waits.push(resolve));
  };
  const drain = new Drain(wait, { idleMs: 25, maxChecks: 3, maxBodyMs: 1000 });
  const pass = async () => {
    waits.shift()!();
    await settled();
  };
  return { drain, pass, waitedMs };
}

/** Returns whether a promise has settled. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  let isOver = false;
  promise.then(() => isOver = true);
  await settled();
  return isOver;
}

Deno.test("Drain.pass() changes no response until the drain begins", async () => {
  const { drain } = manualDrain();
  strictEqual(drain.isDraining, false);
  const response = await drain.pass(new Response("a"));
  strictEqual(response.headers.get("Connection"), null);
});

Deno.test("Drain.pass() holds responses until release(), and marks them as the last", async () => {
  const { drain, pass } = manualDrain();
  const draining = drain.hold();
  strictEqual(drain.isDraining, true);
  const held = drain.pass(new Response("a"));
  await pass();
  await draining;
  strictEqual(await isSettled(held), false);
  drain.release();
  strictEqual((await held).headers.get("Connection"), "close");
  strictEqual((await drain.pass(new Response("late"))).headers.get("Connection"), "close");
});

Deno.test("Drain.hold() waits while requests arrive, for maxChecks checks", async () => {
  const { drain, pass, waitedMs } = manualDrain();
  const draining = drain.hold();
  for (let check = 0; check < 3; check++) {
    strictEqual(await isSettled(draining), false);
    drain.countRequest();
    await pass();
  }
  strictEqual(await isSettled(draining), true);
  deepStrictEqual(waitedMs, [25, 25, 25]);
});

Deno.test("Drain.holdBetweenBodies() releases responses while a body arrives", async () => {
  const { drain, pass } = manualDrain();
  const clock = fakeClock();
  const bodyReceived = drain.countBody();
  const draining = drain.holdBetweenBodies(clock.schedule);
  const held = drain.pass(new Response("a"));
  strictEqual(await isSettled(held), false);
  await pass();
  strictEqual(await isSettled(held), true);
  strictEqual(await isSettled(draining), false);
  bodyReceived();
  await settled();
  const last = drain.pass(new Response("b"));
  await pass();
  strictEqual(await isSettled(draining), true);
  strictEqual(await isSettled(last), false);
  drain.release();
  await last;
});

Deno.test("Drain.holdBetweenBodies() waits maxBodyMs for bodies", async () => {
  const { drain, pass } = manualDrain();
  const clock = fakeClock();
  drain.countBody();
  const draining = drain.holdBetweenBodies(clock.schedule);
  await pass();
  await clock.pass(999);
  strictEqual(await isSettled(draining), false);
  await clock.pass(1);
  await pass();
  strictEqual(await isSettled(draining), true);
  strictEqual(await isSettled(drain.pass(new Response("held"))), false);
});

Deno.test("Drain.closeConnections() marks responses as the last, and holds none", async () => {
  const { drain } = manualDrain();
  drain.closeConnections();
  strictEqual(drain.isDraining, true);
  strictEqual((await drain.pass(new Response("a"))).headers.get("Connection"), "close");
});
