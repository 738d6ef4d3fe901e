import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { Reloader } from "../../src/reload.ts";

/** A load that ends when the test says so. */
function controlled() {
  const pending: { readonly succeed: () => void; readonly fail: () => void }[] = [];
  const retries: number[] = [];
  let loads = 0;
  let now = 0;
  const reloader = new Reloader({
    load: () => {
      loads++;
      return new Promise<void>((resolve, reject) =>
        void pending.push({ succeed: resolve, fail: () => reject(new Error("no")) })
      );
    },
    onRetry: (seconds) => void retries.push(seconds),
    now: () => now,
  });
  return {
    reloader,
    retries,
    pending,
    loads: () => loads,
    setNow: (value: number) => void (now = value),
  };
}

Deno.test("Reloader collapses what is asked during a load into one more", async () => {
  const { reloader, pending, loads } = controlled();
  const first = reloader.request();
  const later = [reloader.request(), reloader.request(), reloader.request()];
  strictEqual(loads(), 1);
  pending[0]!.succeed();
  await first;
  await Promise.resolve();
  strictEqual(loads(), 2);
  pending[1]!.succeed();
  await Promise.all(later);
  strictEqual(loads(), 2);
  strictEqual(reloader.failing, false);
});

Deno.test("Reloader says when it tries again, and stops when told", async () => {
  const { reloader, pending, retries, setNow } = controlled();
  const asked = reloader.request();
  pending[0]!.fail();
  await asked;
  deepStrictEqual(retries, [1]);
  strictEqual(reloader.failing, true);
  strictEqual(reloader.secondsLeft(), 1);
  const again = reloader.request();
  pending[1]!.fail();
  await again;
  deepStrictEqual(retries, [1, 2]);
  strictEqual(reloader.secondsLeft(), 2);
  setNow(1500);
  strictEqual(reloader.secondsLeft(), 1);
  for (let attempt = 2; attempt < 8; attempt++) {
    const next = reloader.request();
    pending[attempt]!.fail();
    await next;
  }
  deepStrictEqual(retries, [1, 2, 4, 8, 16, 32, 32, 32]);
  reloader.stop();
  await reloader.request();
  strictEqual(pending.length, 8);
});

Deno.test("Reloader begins with short pauses again after a success", async () => {
  const { reloader, pending, retries } = controlled();
  for (const end of ["fail", "fail", "succeed", "fail"] as const) {
    const asked = reloader.request();
    pending.at(-1)![end]();
    await asked;
  }
  deepStrictEqual(retries, [1, 2, 1]);
  reloader.stop();
});

Deno.test("Reloader.recover leaves a load or a retry that is under way alone", async () => {
  const { reloader, pending, loads } = controlled();
  reloader.recover();
  reloader.recover();
  strictEqual(loads(), 1);
  pending[0]!.fail();
  await Promise.resolve();
  await new Promise((resolve) => setTimeout(resolve, 0));
  reloader.recover();
  strictEqual(loads(), 1);
  reloader.stop();
});

Deno.test("Reloader retries by itself", async () => {
  const { reloader, pending, loads } = controlled();
  const asked = reloader.request();
  pending[0]!.fail();
  await asked;
  await new Promise((resolve) => setTimeout(resolve, 1100));
  strictEqual(loads(), 2);
  pending[1]!.succeed();
  await new Promise((resolve) => setTimeout(resolve, 0));
  strictEqual(reloader.failing, false);
});
