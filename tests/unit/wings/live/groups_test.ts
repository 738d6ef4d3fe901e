import { deepStrictEqual, ok, rejects, strictEqual, throws } from "node:assert/strict";
import { type Deferred, deferred } from "../../../../src/base/lib/deferred.ts";
import { LiveGroups } from "../../../../src/wings/live/groups.ts";
import { parsePgSnapshot } from "../../../../src/wings/live/offset.ts";
import type { LiveQuery, LiveRows } from "../../../../src/wings/live/group.ts";
import { fakeClock, settled } from "../../../support/timing/fake_clock.ts";

const orders = 16_384;

function queryOf(owner: string): LiveQuery {
  const identity = { role: "writer", authenticated: true, claims: "{}" };
  const query = `owner=eq.${owner}`;
  return { path: "/orders", query, profile: null, identity };
}

const subscriber = { receive: () => {}, fail: () => {}, check: () => {}, end: () => {} };

const defaults = { dbPool: 8, liveMaxMemory: 2 ** 27, liveMaxStreams: 10_000, liveRecheck: 60 };

/** Groups whose reads wait for the test. */
function stage(parts: Partial<typeof defaults> = {}) {
  const { now, schedule, pass } = fakeClock();
  const reads: { readonly query: LiveQuery; readonly read: Deferred<LiveRows> }[] = [];
  const config = { ...defaults, ...parts };
  const groups = new LiveGroups({
    snapshot: () => ({ config, cache: null }),
    read(query) {
      const read = deferred<LiveRows>();
      reads.push({ query, read });
      return read.promise;
    },
    now,
    time: () => 1000,
    schedule,
    revoked: () => null,
  });
  const answer = async (lines: readonly string[] = []) => {
    const snapshot = parsePgSnapshot("5:10:");
    for (const { query, read } of reads.splice(0)) {
      const interest = new Map([[orders, query.query.slice("owner=eq.".length)]]);
      read.resolve({ lines, snapshot, ms: 1, keyColumns: [], interest, cache: null });
    }
    await settled();
  };
  return { groups, reads, answer, pass };
}

Deno.test("subscribers of a query share one read, of which a quarter of the pool runs", async () => {
  const { groups, reads, answer } = stage();
  for (let index = 0; index < 100; index++) groups.groupOf(queryOf("a")).subscribe(subscriber);
  strictEqual(groups.size, 1);
  strictEqual(reads.length, 1);
  for (const owner of "bcdef") groups.groupOf(queryOf(owner)).subscribe(subscriber);
  deepStrictEqual(reads.map(({ query }) => query.query), ["owner=eq.a", "owner=eq.b"]);
  await answer();
  deepStrictEqual(reads.map(({ query }) => query.query), ["owner=eq.c", "owner=eq.d"]);
});

Deno.test("a record with a scope makes one of 1,000 groups run, one without all", async () => {
  const { groups, reads, answer, pass } = stage({ dbPool: 8000 });
  for (let index = 0; index < 1000; index++) {
    groups.groupOf(queryOf(`${index}`)).subscribe(subscriber);
  }
  await answer();
  await pass(9);
  groups.record(new Map([[orders, new Set(["7"])]]));
  deepStrictEqual(reads.map(({ query }) => query.query), ["owner=eq.7"]);
  await answer();
  await pass(9);
  groups.record(new Map([[orders + 1, new Set([null])]]));
  strictEqual(reads.length, 0);
  groups.record(new Map([[orders, new Set([null])]]));
  strictEqual(reads.length, 1000);
});

Deno.test("a group that is used up memory for gives way if it has no subscriber", async () => {
  const { groups, answer } = stage({ liveMaxMemory: 12_000 });
  const lines = Array.from({ length: 20 }, (_, id) => JSON.stringify({ id }));
  const group = groups.groupOf(queryOf("a"));
  group.subscribe(subscriber);
  await answer(lines);
  throws(() => groups.groupOf(queryOf("b")), { message: "No live capacity" });
  group.unsubscribe(subscriber);
  groups.groupOf(queryOf("b"));
  strictEqual(groups.size, 1);
});

Deno.test("a result that outgrows the memory stays as it is, and fails until there is room", async () => {
  const { groups, reads, answer, pass } = stage({ liveMaxMemory: 30_000 });
  const lines = (count: number) => Array.from({ length: count }, (_, id) => JSON.stringify({ id }));
  const events: string[] = [];
  const group = groups.groupOf(queryOf("a"));
  group.subscribe({
    ...subscriber,
    receive: ({ messages }) => events.push(`batch of ${messages.length}`),
    fail: () => events.push("fail"),
  });
  await answer(lines(20));
  const other = groups.groupOf(queryOf("b"));
  other.subscribe(subscriber);
  await answer(lines(20));
  await pass(9);
  group.mark();
  await answer(lines(80));
  deepStrictEqual([group.state, events], ["failed", ["fail"]]);
  await rejects(group.ready(null), { message: "No live capacity" });
  strictEqual(group.whole.messages.length, 22);
  other.unsubscribe(subscriber);
  await pass(1000);
  strictEqual(reads.length, 1);
  await answer(lines(70));
  deepStrictEqual([group.state, groups.size, events], ["idle", 1, ["fail", "batch of 52"]]);
});

Deno.test("groups without rows use up memory, too", () => {
  const { groups } = stage({ liveMaxMemory: 2 ** 20 });
  for (let index = 0; index < 1000; index++) groups.groupOf(queryOf(`${index}`));
  ok(groups.size <= 256, String(groups.size));
});

Deno.test("enter() counts streams of a client, and of all", () => {
  const { groups } = stage({ liveMaxStreams: 20 });
  const leave = groups.enter("a");
  groups.enter("a");
  throws(() => groups.enter("a"), { message: "Too many streams" });
  leave();
  groups.enter("a");
  throws(() => groups.enter("a"), { message: "Too many streams" });
  for (let index = 0; index < 18; index++) groups.enter(`client ${index}`);
  throws(() => groups.enter("b"), { message: "No live capacity" });
  strictEqual(groups.streams, 20);
});
