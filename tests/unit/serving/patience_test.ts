import { deepStrictEqual, rejects } from "node:assert/strict";
import { whileBusy } from "../../../src/serving/patience.ts";

const never = new Promise<never>(() => {});

/** What looks find, in turn, and how many are taken before the waiting ends. */
const rows: readonly (readonly [found: string, looks: number])[] = [
  ["---", 3],
  ["b---", 4],
  ["--b--b---", 9],
];

for (const [found, expected] of rows) {
  Deno.test(`what finds ${found} is waited for during ${expected} looks`, async () => {
    let looks = 0;
    const isBusy = () => found[looks++] === "b";
    await whileBusy(never, { isBusy, period: 1, looks: 3 });
    deepStrictEqual(looks, expected);
  });
}

Deno.test("work that ends is waited for no longer", async () => {
  await whileBusy(Promise.resolve(), { isBusy: () => true, period: 1e6, looks: 3 });
  await rejects(
    whileBusy(Promise.reject(new Error("no")), { isBusy: () => true, period: 1e6, looks: 3 }),
    /no/,
  );
});
