import { deepStrictEqual, rejects, strictEqual } from "node:assert/strict";
import { errors } from "../../../../src/base/errors/catalogue.ts";
import { ServiceError } from "../../../../src/base/errors/service_error.ts";
import { type Deferred, deferred } from "../../../../src/base/lib/deferred.ts";
import type { LiveRows, Subscriber } from "../../../../src/wings/live/group.ts";
import { LiveGroups } from "../../../../src/wings/live/groups.ts";
import { parsePgSnapshot, readOffset } from "../../../../src/wings/live/offset.ts";
import type { SchemaCache } from "../../../../src/state/schema_cache/schema_cache.ts";
import { fakeClock, settled } from "../../../support/timing/fake_clock.ts";

const identity = { role: "writer", authenticated: true, claims: "{}" };
const query = { path: "/orders", query: "", profile: null, identity };

/** A group whose reads the test answers. */
function stage() {
  const clock = fakeClock();
  const reads: Deferred<LiveRows | ServiceError>[] = [];
  const events: string[] = [];
  let cache = {} as SchemaCache;
  const config = { dbPool: 8, liveMaxMemory: 2 ** 27, liveMaxStreams: 10, liveRecheck: 60 };
  const groups = new LiveGroups({
    snapshot: () => ({ config, cache }),
    read: (_query, signal) => {
      const read = deferred<LiveRows | ServiceError>();
      reads.push(read);
      signal.addEventListener("abort", () => read.resolve(failure(500)));
      return read.promise;
    },
    now: clock.now,
    time: () => 1000,
    schedule: clock.schedule,
    revoked: () => null,
  });
  const group = groups.groupOf(query);
  const subscriber: Subscriber = {
    receive: ({ messages }) => void events.push(`batch of ${messages.length}`),
    fail: () => void events.push("fail"),
    check: () => {},
    end: (error) => void events.push(`end ${error?.fields.status ?? "null"}`),
  };
  let xmax = 10;
  /** Answers the last read. */
  const answer = async (read: ServiceError | readonly string[]) => {
    const snapshot = parsePgSnapshot(`5:${xmax++}:`);
    const rows = { snapshot, ms: 2, keyColumns: ["id"], interest: new Map(), cache };
    reads.at(-1)!.resolve(Array.isArray(read) ? { ...rows, lines: read } : read as ServiceError);
    await settled();
  };
  const reload = () => void (cache = {} as SchemaCache);
  return { clock, groups, group, reads, events, subscriber, answer, reload };
}

function failure(status: number): ServiceError {
  return new ServiceError({ ...errors.internal("x").fields, status });
}

Deno.test("a mark while a group runs makes it run again behind its rest", async () => {
  const { clock, group, reads, events, subscriber, answer } = stage();
  group.subscribe(subscriber);
  strictEqual(group.state, "running");
  strictEqual(reads.length, 1);
  group.mark();
  await answer([`{"id":1}`]);
  deepStrictEqual([group.state, reads.length], ["resting", 1]);
  await clock.pass(17);
  strictEqual(group.state, "resting");
  await clock.pass(1);
  deepStrictEqual([group.state, reads.length], ["running", 2]);
  await answer([`{"id":2}`]);
  deepStrictEqual([group.state, events], ["idle", ["batch of 4"]]);
});

Deno.test("a run is due until its statement is sent, and no longer", async () => {
  const { clock, group, reads, subscriber, answer } = stage();
  group.mark();
  deepStrictEqual([group.state, reads.length], ["idle", 0]);
  group.subscribe(subscriber);
  await answer([]);
  group.mark();
  group.mark();
  deepStrictEqual([group.state, reads.length], ["resting", 1]);
  await clock.pass(18);
  deepStrictEqual([group.state, reads.length], ["running", 2]);
  await answer([]);
  await clock.pass(50_000);
  deepStrictEqual([group.state, reads.length], ["idle", 2]);
});

Deno.test("a group fails, and runs again after 1, 2 and 4 s", async () => {
  const { clock, group, reads, events, subscriber, answer } = stage();
  group.subscribe(subscriber);
  for (const seconds of [1, 2, 4]) {
    await answer(failure(500));
    strictEqual(group.state, "failed");
    await clock.pass(seconds * 1000 - 1);
    strictEqual(group.state, "failed");
    await clock.pass(1);
    strictEqual(group.state, "running");
  }
  await answer([`{"id":1}`]);
  deepStrictEqual([group.state, reads.length], ["idle", 4]);
  deepStrictEqual(events, ["fail", "fail", "fail"]);
});

/** What ends a group, and the events of a subscriber. */
const ends = [
  ["an error of the client", async ({ answer }) => await answer(failure(403)), "end 403", 403],
  ["a stop during a run", ({ group }) => group.end(null), "end null", 503],
] as const satisfies readonly (readonly [
  string,
  (parts: ReturnType<typeof stage>) => unknown,
  string,
  number,
])[];

for (const [label, end, event, status] of ends) {
  Deno.test(`a group ends by ${label}, and never runs again`, async () => {
    const parts = stage();
    const { clock, groups, group, reads, events, subscriber } = parts;
    group.subscribe(subscriber);
    const ready = group.ready(null);
    ready.catch(() => {});
    await end(parts);
    await settled();
    deepStrictEqual([group.state, groups.size, events], ["ended", 0, [event]]);
    await rejects(ready, ({ fields }: ServiceError) => fields.status === status);
    group.mark();
    await clock.pass(120_000);
    await rejects(group.ready(null), ({ fields }: ServiceError) => fields.status === 503);
    strictEqual(reads.length, 1);
  });
}

Deno.test("ready() waits for a later run if the client's snapshot may be later", async () => {
  const { clock, group, reads, answer } = stage();
  const first = group.ready(null);
  await answer([`{"id":1}`]);
  await first;
  await group.ready(9n);
  const later = group.ready(10n);
  deepStrictEqual([group.state, reads.length], ["resting", 1]);
  await clock.pass(18);
  await answer([`{"id":1}`]);
  await later;
  strictEqual(reads.length, 2);
});

Deno.test("since() finds batches by offset and by content", async () => {
  const { clock, group, subscriber, answer } = stage();
  group.subscribe(subscriber);
  const contents = [[`{"id":1}`], [`{"id":2}`], [`{"id":3}`]];
  const offsets = [];
  for (const content of contents) {
    await clock.pass(18);
    group.mark();
    await answer(content);
    offsets.push(readOffset(`${group.offset}_0`)!);
  }
  const [first, second, third] = offsets as [
    typeof offsets[0],
    typeof offsets[0],
    typeof offsets[0],
  ];
  deepStrictEqual(offsets.map((offset) => group.since(offset)?.length), [2, 1, 0]);
  deepStrictEqual(offsets.map((offset) => group.hasOffset(offset)), [false, true, true]);
  strictEqual(group.since({ ...first, xmax: 1n })?.length, 2);
  // A client that has the first content again, behind the snapshot of the second one.
  strictEqual(group.since({ ...first, xmax: second.xmax }), null);
  strictEqual(group.since({ ...third, xmax: 1n })?.length, 0);
  strictEqual(group.since({ ...second, sum: 1n, ms: 2 }), null);
});

Deno.test("check() renews an old result of a subscriber, and ends an unused group", async () => {
  const { clock, group, reads, subscriber, answer } = stage();
  group.subscribe(subscriber);
  await answer([]);
  await clock.pass(60_000);
  group.check();
  strictEqual(reads.length, 1);
  await clock.pass(1);
  group.check();
  deepStrictEqual([group.state, reads.length], ["running", 2]);
  await answer([]);
  group.unsubscribe(subscriber);
  await clock.pass(60_000);
  group.check();
  strictEqual(group.state, "idle");
  await clock.pass(1);
  group.check();
  strictEqual(group.state, "ended");
});

Deno.test("check() renews a result of another schema cache", async () => {
  const { clock, group, reads, subscriber, answer, reload } = stage();
  group.subscribe(subscriber);
  await answer([]);
  reload();
  await clock.pass(1000);
  deepStrictEqual([group.state, reads.length], ["running", 2]);
  await answer([]);
  await clock.pass(2000);
  deepStrictEqual([group.state, reads.length], ["idle", 2]);
});
