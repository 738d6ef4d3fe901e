import { rejects, strictEqual } from "node:assert/strict";
import { deferred } from "../../../../src/base/lib/deferred.ts";
import { BodyPace } from "../../../../src/base/lib/time_limits.ts";
import { errors } from "../../../../src/base/errors/catalogue.ts";
import { fakeClock } from "../../../support/timing/fake_clock.ts";
import { rejectionOf } from "../../../support/handler/refusal.ts";

async function codeOf(read: Promise<unknown>): Promise<string> {
  return (await rejectionOf(() => read)).code;
}

function paceWith() {
  const clock = fakeClock();
  const state = { isContended: true };
  return { clock, state, pace: new BodyPace(() => state.isContended, clock, errors) };
}

/** Begins a read; the outcome is "waits" until it settles. */
function begin(pace: BodyPace) {
  const read = deferred<number>();
  const state = { outcome: "waits" };
  const waited = pace.inTime(read.promise);
  waited.then(() => state.outcome = "read", () => state.outcome = "refused");
  return { read, waited, state };
}

Deno.test("BodyPace refuses a body that is silent for more than 10 seconds while others wait", async () => {
  const { clock, pace } = paceWith();
  const { state, waited } = begin(pace);
  const refused = codeOf(waited);
  await clock.pass(9999);
  strictEqual(state.outcome, "waits");
  await clock.pass(1);
  strictEqual(await refused, "133");
  strictEqual(clock.next(), null);
});

Deno.test("BodyPace refuses a slow body once other clients wait, and not before", async () => {
  const { clock, pace, state: others } = paceWith();
  others.isContended = false;
  const { state, waited } = begin(pace);
  const refused = codeOf(waited);
  await clock.pass(60_000);
  strictEqual(state.outcome, "waits");
  others.isContended = true;
  await clock.pass(1000);
  strictEqual(await refused, "133");
});

Deno.test("BodyPace adds a second for each kibibyte that has arrived", async () => {
  const { clock, pace } = paceWith();
  for (let second = 0; second < 60; second++) {
    const { read, waited } = begin(pace);
    await clock.pass(1000);
    read.resolve(1024);
    strictEqual(await waited, 1024);
    pace.count(1024);
  }
  const { state, waited } = begin(pace);
  const refused = codeOf(waited);
  await clock.pass(9999);
  strictEqual(state.outcome, "waits");
  await clock.pass(1);
  strictEqual(await refused, "133");
});

Deno.test("BodyPace refuses a body of one byte per second, although each arrives soon", async () => {
  const { clock, pace } = paceWith();
  for (let second = 0; second < 9; second++) {
    const { read, waited } = begin(pace);
    await clock.pass(1000);
    read.resolve(1);
    await waited;
    pace.count(1);
  }
  const { waited } = begin(pace);
  const refused = codeOf(waited);
  await clock.pass(1100);
  strictEqual(await refused, "133");
});

Deno.test("BodyPace passes on a read that fails", async () => {
  const { clock, pace } = paceWith();
  const { read, waited } = begin(pace);
  const failed = rejects(waited, /reset/);
  read.reject(new Error("reset"));
  await failed;
  strictEqual(clock.next(), null);
});
