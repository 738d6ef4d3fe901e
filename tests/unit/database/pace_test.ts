import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { Pace, RoundTrip } from "../../../src/database/pace.ts";

const rows: [string, readonly number[], boolean][] = [
  ["nothing is known", [], false],
  ["one measurement says little", [0.1], false],
  ["short twice", [0.1, 0.2], true],
  ["long", [5, 6, 7], false],
  ["short, and once late", [0.1, 0.1, 15], true],
  ["short, and once very long", [0.1, 0.1, 25], false],
  ["short again after that", [0.1, 0.1, 25, 0.1], true],
  ["longer for good", [0.1, ...Array.from({ length: 100 }, () => 3)], false],
];

Deno.test("Pace.isQuick", async (t) => {
  for (const [name, measured, expected] of rows) {
    await t.step(name, () => {
      const pace = new Pace();
      for (const ms of measured) pace.note(ms, "alone");
      strictEqual(pace.isQuick, expected);
    });
  }
});

Deno.test("Pace.refuse makes a kind of batch show anew that it is quick", () => {
  const pace = new Pace();
  pace.note(0.1, "alone");
  pace.note(0.1, "shared");
  pace.refuse();
  strictEqual(pace.isQuick, false);
  strictEqual(pace.cost, null);
});

Deno.test("Pace.note forgets what was shared after a batch that took very long", () => {
  const pace = new Pace();
  for (const ms of [0.1, 0.1]) pace.note(ms, "shared");
  pace.note(25, "shared");
  strictEqual(pace.isQuick, false);
  // It runs alone now, and only so it can show that it is quick again.
  pace.note(0.1, "alone");
  strictEqual(pace.isQuick, true);
});

Deno.test("Pace.note believes what runs alone after a batch that was too long for sharing", () => {
  for (const [first, isQuick] of [[1.5, false], [0.9, true]] as const) {
    const pace = new Pace();
    for (const ms of [0.1, 0.1]) pace.note(ms, "alone");
    // The first that are sent together: the server, or this process, did something else meanwhile.
    pace.note(first, "shared");
    strictEqual(pace.isQuick, isQuick);
    strictEqual(pace.cost, isQuick ? first : null);
    pace.note(0.1, "alone");
    strictEqual(pace.isQuick, true);
  }
});

Deno.test("Pace.cost is what batches took that were sent together", () => {
  const pace = new Pace();
  pace.note(0, "alone");
  pace.note(0, "alone");
  strictEqual(pace.cost, null);
  pace.note(0.5, "shared");
  strictEqual(pace.cost, 0.5);
  pace.note(0, "alone");
  strictEqual(pace.cost, 0.5);
  pace.note(0.4, "shared");
  strictEqual(pace.cost, 0.4);
  pace.note(0.9, "shared");
  ok(pace.cost! > 0.4 && pace.cost! < 0.5);
});

Deno.test("RoundTrip takes the time of the way off", () => {
  const way = new RoundTrip();
  deepStrictEqual([way.without(2), way.without(5), way.without(1)], [0, 5 - 2 * 1.001, 0]);
  // The first of them took the time of the way, or is as quick as the others.
  deepStrictEqual([way.share(3, 2), way.share(5, 5), way.share(0.5, 5)], [2, 1, 0.1]);
  // However much of it that is.
  deepStrictEqual([way.share(1.25, 2), way.share(2, 5)], [0.25, 0.25]);
  strictEqual(way.ms, 1);
});

Deno.test("Pace.isPrompt ends with what takes long when it is run behind others, for a while", () => {
  const pace = new Pace();
  strictEqual(pace.isPrompt, true);
  pace.note(0.1, "shared");
  pace.note(5, "shared");
  strictEqual(pace.isPrompt, true, "one of several says little");
  const other = new Pace();
  other.note(0.3, "shared");
  for (let time = 0; time < 1000; time++) {
    strictEqual(other.isPrompt, false);
    other.noteWhole(0.1);
  }
  strictEqual(other.isPrompt, true);
});
