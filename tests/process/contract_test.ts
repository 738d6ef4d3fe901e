import { deepStrictEqual, match, strictEqual } from "node:assert/strict";
import { programFolder } from "../support/server/program.ts";

const shop = new URL("../../examples/shop/", import.meta.url).pathname;

Deno.test("svc diff compares the contract of the example shop", async (t) => {
  await using folder = await programFolder();
  const contract = `${shop}api.contract`;
  await t.step("nothing has changed", async () => {
    const { code, stdout, stderr } = await folder.run(["diff", contract, `${shop}svc.conf`], {});
    deepStrictEqual([code, stdout], [0, ""]);
    match(stderr, /^svc diff: no changes$/m);
  });
  await t.step("a missing file", async () => {
    const { code } = await folder.run(["diff", "no.contract", `${shop}svc.conf`], {});
    strictEqual(code, 2);
  });
  await t.step("no file", async () => {
    const { code, stderr } = await folder.run(["diff", `${shop}svc.conf`], {});
    strictEqual(code, 2);
    match(
      stderr,
      /^svc: diff: expected FILE\.contract, which this writes: .+ contract .*> api\.contract\n$/,
    );
  });
});
