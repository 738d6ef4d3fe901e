import { deepStrictEqual, ok, rejects, strictEqual } from "node:assert/strict";
import type { Revocation } from "../../../../src/state/auth/revocations.ts";
import type { FunctionName } from "../../../../src/state/config/codecs.ts";
import { ServiceError } from "../../../../src/base/errors/service_error.ts";
import { maxRevocations, RevocationList } from "../../../../src/state/app_state/revocation_list.ts";
import { fakeClock, settled } from "../../../support/timing/fake_clock.ts";

const one: Revocation = { claim: "jti", value: "a", issuedBefore: null, until: null };

/** Makes a list whose reads end by `end`. */
function controlled(sharing: "shared" | "unshared" = "shared") {
  const clock = fakeClock();
  const pending: {
    readonly succeed: (list: readonly Revocation[]) => void;
    readonly fail: () => void;
  }[] = [];
  const state = {
    source: { schema: "private", name: "revoked" } as FunctionName | null,
    isNotified: true,
  };
  const reported: string[] = [];
  const list = new RevocationList({
    source: () => state.source,
    read: () =>
      new Promise((resolve, reject) =>
        void pending.push({ succeed: resolve, fail: () => reject(new Error("no table")) })
      ),
    isNotified: () => state.isNotified,
    reportFailure: (thrown) => void reported.push((thrown as Error).message),
    observe: (event) => void reported.push(event.kind),
    onLoaded: () => {},
    sharing,
    now: clock.now,
    schedule: clock.schedule,
  });
  const end = async (result: readonly Revocation[] | "fail") => {
    const read = pending.at(-1)!;
    if (result === "fail") read.fail();
    else read.succeed(result);
    await settled();
  };
  const claims = async () => Array.from((await list.current())?.keys() ?? []);
  return { list, clock, state, reported, end, claims, reads: () => pending.length };
}

function isUnavailable(error: unknown): boolean {
  return error instanceof ServiceError && error.fields.code === "310";
}

Deno.test("RevocationList reads nothing without jwt-revocations", async () => {
  const { list, state, reads } = controlled();
  state.source = null;
  strictEqual(list.current(), null);
  await list.reload();
  strictEqual(reads(), 0);
});

Deno.test("RevocationList lets the first requests wait for one read", async () => {
  const { list, end, claims, reads, reported } = controlled();
  const [first, second] = [claims(), claims()];
  await end([one]);
  deepStrictEqual([await first, await second], [["jti"], ["jti"]]);
  strictEqual(reads(), 1);
  ok(!(list.current() instanceof Promise));
  deepStrictEqual(reported, ["revocations-loaded"]);
});

Deno.test("RevocationList refuses tokens until a first read has succeeded", async () => {
  const { end, claims, reported, clock, reads } = controlled();
  const first = claims();
  const refused = rejects(first, isUnavailable);
  await end("fail");
  await refused;
  await rejects(claims(), isUnavailable);
  strictEqual(reads(), 1, "the retry is scheduled");
  await clock.pass(1000);
  await end("fail");
  await clock.pass(2000);
  await end([]);
  deepStrictEqual(await claims(), []);
  deepStrictEqual(reported, ["no table", "revocations-loaded"]);
});

Deno.test("RevocationList keeps the old list if it cannot be read again", async () => {
  const { list, end, claims, clock } = controlled();
  void claims();
  await end([one]);
  await clock.pass(100);
  void list.reload();
  await end("fail");
  deepStrictEqual(await claims(), ["jti"]);
  await clock.pass(1000);
  await end(Array(maxRevocations + 1).fill(one));
  deepStrictEqual(await claims(), ["jti"]);
});

Deno.test("RevocationList reads a new source before it takes further tokens", async () => {
  const { state, end, claims, clock } = controlled();
  void claims();
  await end([one]);
  await clock.pass(100);
  state.source = { schema: "private", name: "other" };
  const other = claims();
  await settled();
  await end([{ ...one, claim: "sub" }]);
  deepStrictEqual(await other, ["sub"]);
});

Deno.test("RevocationList reads each minute while notifications do not arrive", async () => {
  const { list, state, end, claims, clock, reads } = controlled();
  list.start();
  void claims();
  await end([]);
  await clock.pass(60_000);
  strictEqual(reads(), 1);
  state.isNotified = false;
  await clock.pass(60_000);
  strictEqual(reads(), 2);
  await end([one]);
  await clock.pass(60_000);
  strictEqual(reads(), 3);
  await end([one]);
  list.stop();
  strictEqual(clock.next(), null);
});

Deno.test("RevocationList without shared I/O reads in a request, once a minute", async () => {
  const { list, end, claims, clock, reads } = controlled("unshared");
  list.start();
  const [first, second] = [claims(), claims()];
  strictEqual(reads(), 2, "no request waits for another one's read");
  await end([]);
  await second;
  await clock.pass(59_999);
  deepStrictEqual(await claims(), []);
  strictEqual(reads(), 2);
  await clock.pass(1);
  const third = claims();
  deepStrictEqual(await claims(), [], "while the third reads");
  await end([one]);
  deepStrictEqual(await third, ["jti"]);
  await list.reload();
  const fourth = claims();
  await end("fail");
  deepStrictEqual(await fourth, ["jti"]);
  strictEqual(reads(), 4);
  strictEqual(clock.next(), null, "no timer");
  void first;
});
