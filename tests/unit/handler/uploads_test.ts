import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { Uploads } from "../../../src/handler/uploads.ts";
import type { PayloadPieces } from "../../../src/request/api_request.ts";
import { settled } from "../../support/timing/fake_clock.ts";

function uploadsOf(max: number): Uploads {
  const counts = () => ({ max, open: 0, inUse: 0, waiting: 0, timeouts: 0 });
  return new Uploads({ counts });
}

function pieces(areStored: boolean, closed: string[] = [], name = ""): PayloadPieces {
  return {
    arrays: (async function* () {})(),
    areStored,
    close: () => Promise.resolve(void closed.push(name)),
  };
}

for (const [max, places] of [[1, 1], [3, 1], [8, 2], [20, 5]] as const) {
  Deno.test(`Uploads.run() gives arriving bodies ${places} of ${max} connections`, async () => {
    const uploads = uploadsOf(max);
    const ends: (() => void)[] = [];
    const begun: number[] = [];
    const all = Array.from({ length: places + 2 }, (_, at) =>
      uploads.run(pieces(false), () => {
        begun.push(at);
        return new Promise<void>((resolve) => ends.push(resolve));
      }));
    await settled();
    strictEqual(begun.length, places);
    while (ends.length > 0) {
      ends.shift()!();
      await settled();
    }
    await Promise.all(all);
    deepStrictEqual(begun, Array.from(all.keys()));
  });
}

Deno.test("Uploads.run() does not hold up stored bodies", async () => {
  const uploads = uploadsOf(1);
  void uploads.run(pieces(false), () => new Promise(() => {}));
  await settled();
  strictEqual(await uploads.run(pieces(true), () => Promise.resolve("done")), "done");
});

Deno.test("Uploads.run() closes the pieces and frees the place after a failure", async () => {
  const uploads = uploadsOf(1);
  const closed: string[] = [];
  const fail = () => Promise.reject(new RangeError("no"));
  for (const [name, areStored] of [["first", false], ["second", true], ["third", false]] as const) {
    const error = await uploads.run(pieces(areStored, closed, name), fail).catch((error) => error);
    strictEqual(error.message, "no");
  }
  deepStrictEqual(closed, ["first", "second", "third"]);
});
