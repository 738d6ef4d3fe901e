import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { Gate } from "../../../src/server/drain.ts";
import { settled } from "../../support/fake_clock.ts";

/** A gate whose waits end when they are told to. */
function stoppedGate() {
  const waits: (() => void)[] = [];
  const asked: number[] = [];
  const wait = (milliseconds: number) => {
    asked.push(milliseconds);
    return new Promise<void>((resolve) => waits.push(resolve));
  };
  const gate = new Gate(wait, { quiet: 25, looks: 3 });
  const pass = async () => {
    waits.shift()!();
    await settled();
  };
  return { gate, pass, asked };
}

/** Tells whether a promise is settled by now. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  let isOver = false;
  promise.then(() => isOver = true);
  await settled();
  return isOver;
}

Deno.test("Gate lets answers pass as they are until it closes", async () => {
  const { gate } = stoppedGate();
  strictEqual(gate.isClosing, false);
  const response = await gate.pass(new Response("a"));
  strictEqual(response.headers.get("Connection"), null);
});

Deno.test("Gate holds answers until it opens, and marks them as the last", async () => {
  const { gate, pass } = stoppedGate();
  const closing = gate.close();
  strictEqual(gate.isClosing, true);
  const answer = gate.pass(new Response("a"));
  await pass();
  await closing;
  strictEqual(await isSettled(answer), false);
  gate.open();
  strictEqual((await answer).headers.get("Connection"), "close");
  strictEqual((await gate.pass(new Response("late"))).headers.get("Connection"), "close");
});

Deno.test("Gate waits while requests come, but not for ever", async () => {
  const { gate, pass, asked } = stoppedGate();
  const closing = gate.close();
  for (let look = 0; look < 3; look++) {
    strictEqual(await isSettled(closing), false);
    gate.arrived();
    await pass();
  }
  strictEqual(await isSettled(closing), true);
  deepStrictEqual(asked, [25, 25, 25]);
});
