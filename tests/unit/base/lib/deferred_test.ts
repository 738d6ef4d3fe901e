import { rejects, strictEqual } from "node:assert/strict";
import { deferred } from "../../../../src/base/lib/deferred.ts";

Deno.test("deferred() makes a promise that its caller settles", async () => {
  const [fulfilled, rejected] = [deferred<number>(), deferred<void>()];
  fulfilled.resolve(1);
  rejected.reject(new Error("no"));
  strictEqual(await fulfilled.promise, 1);
  await rejects(rejected.promise, /^Error: no$/);
});
