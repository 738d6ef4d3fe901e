import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { ReloadJitter } from "../../../src/service/reload_notifications.ts";
import { fakeClock } from "../../support/timing/fake_clock.ts";

function controlled(random = 0.5) {
  const clock = fakeClock();
  const reloads: string[] = [];
  const jitter = new ReloadJitter({
    reload: (what) => void reloads.push(`${what} at ${clock.now()}`),
    random: () => random,
    schedule: clock.schedule,
  });
  return { clock, reloads, jitter };
}

const delays: readonly (readonly [random: number, delay: number])[] = [[0, 0], [0.5, 125], [
  0.9,
  225,
]];

for (const [random, delay] of delays) {
  Deno.test(`ReloadJitter delays a reload by ${delay} ms where the random number is ${random}`, async () => {
    const { clock, reloads, jitter } = controlled(random);
    jitter.request("schema");
    await clock.pass(250);
    deepStrictEqual(reloads, [`schema at ${delay}`]);
  });
}

Deno.test("ReloadJitter merges the requests of one delay, in their order", async () => {
  const { clock, reloads, jitter } = controlled();
  for (const what of ["config", "schema", "config"] as const) jitter.request(what);
  await clock.pass(200);
  jitter.request("schema");
  await clock.pass(200);
  deepStrictEqual(reloads, ["config at 125", "schema at 125", "schema at 325"]);
});

Deno.test("ReloadJitter does not delay the reload of revocations", () => {
  const { reloads, jitter } = controlled();
  jitter.request("revocations");
  deepStrictEqual(reloads, ["revocations at 0"]);
});

Deno.test("ReloadJitter.stop() drops the requests that wait", async () => {
  const { clock, reloads, jitter } = controlled();
  jitter.request("schema");
  jitter.stop();
  await clock.pass(250);
  deepStrictEqual([reloads, clock.next()], [[], null]);
  strictEqual(reloads.length, 0);
});
