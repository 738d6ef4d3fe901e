import { deepStrictEqual, rejects, strictEqual } from "node:assert/strict";
import { CommitBarrier } from "../../../../src/database/replicas/primary_monitor.ts";
import { fakeClock, settled } from "../../../support/timing/fake_clock.ts";

/** A primary with running transactions. */
function fakePrimary(running: string) {
  const clock = fakeClock();
  const primary = { running, questions: 0, passed: 0, clock };
  const probe = {
    ask: () => {
      primary.questions++;
      return Promise.resolve([primary.running]);
    },
    close: () => Promise.resolve(),
  };
  const barrier = new CommitBarrier(probe, clock);
  const pass = () => void barrier.pass().then(() => primary.passed++);
  return Object.assign(primary, { pass });
}

Deno.test("CommitBarrier.pass() resolves at once if no transaction runs", async () => {
  const primary = fakePrimary("");
  primary.pass();
  await settled();
  deepStrictEqual([primary.passed, primary.clock.next()], [1, null]);
});

Deno.test("CommitBarrier.pass() waits for the transactions that run, not for later ones", async () => {
  const primary = fakePrimary("7,9");
  primary.pass();
  await settled();
  for (const running of ["9,10", "9,11,12"]) {
    primary.running = running;
    await primary.clock.pass(2);
    strictEqual(primary.passed, 0);
  }
  primary.running = "10,12";
  await primary.clock.pass(2);
  strictEqual(primary.passed, 1);
});

Deno.test("CommitBarrier.pass() waits once, and 100 ms, for a long transaction", async () => {
  const primary = fakePrimary("7");
  primary.pass();
  await settled();
  await primary.clock.pass(98);
  strictEqual(primary.passed, 0);
  await primary.clock.pass(2);
  strictEqual(primary.passed, 1);
  primary.pass();
  await settled();
  strictEqual(primary.passed, 2);
});

Deno.test("CommitBarrier.pass() shares questions that begin after its call", async () => {
  const primary = fakePrimary("");
  for (let call = 0; call < 5; call++) primary.pass();
  await settled();
  deepStrictEqual([primary.passed, primary.questions], [5, 1]);
  primary.pass();
  await settled();
  strictEqual(primary.questions, 2);
});

Deno.test("CommitBarrier.pass() rejects if the primary does not answer, and tries again later", async () => {
  let isAway = true;
  const ask = () => isAway ? Promise.reject(new Error("away")) : Promise.resolve([""]);
  const barrier = new CommitBarrier({ ask, close: () => Promise.resolve() }, fakeClock());
  await rejects(barrier.pass(), { message: "away" });
  isAway = false;
  await barrier.pass();
});
