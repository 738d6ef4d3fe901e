import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { DatabaseError } from "../../../../src/base/errors/service_error.ts";
import {
  type SchemaStateReader,
  SchemaWatch,
  type SchemaWatchConfig,
} from "../../../../src/state/app_state/schema_watch.ts";
import { fakeClock, settled } from "../../../support/timing/fake_clock.ts";

const unsupported = new DatabaseError({
  sqlstate: "42883",
  message: "no such function",
  detail: null,
  hint: null,
});

const config: SchemaWatchConfig = {
  dbSchemaWatch: "poll",
  dbChannel: "svc",
  dbSchemas: ["api"],
  dbExtraSearchPath: ["public"],
};

/** A watch over a database that the test changes. `calls` are the reader's, in order. */
function controlled(overrides: Partial<SchemaWatchConfig> = {}, isEmbedded = false) {
  const clock = fakeClock();
  const database = {
    counters: "1",
    fingerprint: "a",
    isCounted: true,
    hasTrigger: false,
    isFree: true,
    isDown: false,
    isUnsupported: false,
  };
  const service = { isNotified: true };
  const calls: string[] = [];
  const called = <T>(name: string, value: T): Promise<T> => {
    calls.push(name);
    if (database.isUnsupported) return Promise.reject(unsupported);
    return database.isDown ? Promise.reject(new Error("down")) : Promise.resolve(value);
  };
  const reader: SchemaStateReader = {
    isFree: () => database.isFree,
    writeCounters: () =>
      called("counters", { sum: database.counters, isCounted: database.isCounted }),
    fingerprint: (schemas) => called(`rows of ${schemas}`, database.fingerprint),
    hasReloadTrigger: (channel) => called(`trigger for ${channel}`, database.hasTrigger),
  };
  const started = { ...config, ...overrides };
  const watch = new SchemaWatch(started, {
    reader,
    isEmbedded,
    isNotified: () => service.isNotified,
    onChanged: () => void calls.push("changed"),
    now: clock.now,
    schedule: clock.schedule,
  });
  const load = async (loaded: SchemaWatchConfig = started) => {
    const record = await watch.beforeLoad(loaded);
    record();
  };
  const take = () => calls.splice(0);
  /** Starts to watch after a load. */
  const begin = async () => {
    watch.start({ isLoaded: false });
    await load();
    take();
  };
  return { watch, clock, database, service, load, take, begin };
}

const [counters, rows] = ["counters", "rows of api,public"];

type Controlled = ReturnType<typeof controlled>;

/** What happens after the first load, and what the watch does from then on. */
const polls: readonly {
  readonly title: string;
  readonly config?: Partial<SchemaWatchConfig>;
  readonly run: (controlled: Controlled) => Promise<void>;
  readonly calls: readonly string[];
}[] = [
  {
    title: "reads the counters each interval, and nothing else",
    run: ({ clock }) => clock.pass(6000),
    calls: [counters, counters, counters],
  },
  {
    title: "reads the rows if the counters have changed, and reports no change if they have not",
    run: async ({ clock, database }) => {
      database.counters = "2";
      await clock.pass(4000);
    },
    calls: [counters, rows, counters],
  },
  {
    title: "reports a change of the rows once",
    run: async ({ clock, database }) => {
      database.counters = "2";
      database.fingerprint = "b";
      await clock.pass(4000);
    },
    calls: [counters, rows, "changed", counters],
  },
  {
    title: "skips the look if no connection is free",
    run: async ({ clock, database }) => {
      database.isFree = false;
      await clock.pass(4000);
      database.isFree = true;
      await clock.pass(2000);
    },
    calls: [counters],
  },
  {
    title: "looks again after the database has failed",
    run: async ({ clock, database }) => {
      database.isDown = true;
      await clock.pass(2000);
      database.isDown = false;
      await clock.pass(2000);
    },
    calls: [counters, counters],
  },
  {
    title: "reads the rows at most every 10 s if nothing is counted",
    run: async ({ clock, database, load, take }) => {
      database.isCounted = false;
      await load();
      take();
      // The timer of the first load has begun already.
      await clock.pass(2000);
      take();
      await clock.pass(20_000);
    },
    calls: [counters, rows, counters, rows],
  },
  {
    title: "follows a change of the options",
    run: async ({ clock, watch }) => {
      watch.configure({ ...config, dbChannel: "other" });
      await clock.pass(2000);
      watch.configure({ ...config, dbSchemaWatch: "notify" });
      await clock.pass(60_000);
    },
    calls: [counters],
  },
  {
    title: "looks no more after it is stopped",
    run: async ({ clock, watch }) => {
      await watch.stop();
      watch.missed();
      await clock.pass(60_000);
    },
    calls: [],
  },
  {
    title: "never looks with notify",
    config: { dbSchemaWatch: "notify" },
    run: async ({ clock, watch, database }) => {
      database.counters = database.fingerprint = "2";
      watch.missed();
      await clock.pass(60_000);
    },
    calls: [],
  },
  {
    title: "looks at the rows at once for a missing name, since the counters are late",
    run: async ({ watch }) => {
      watch.missed();
      await settled();
    },
    calls: [counters, rows],
  },
  {
    title: "looks once for a thousand missing names in a second, and again in the next",
    run: async ({ watch, clock }) => {
      for (let missed = 0; missed < 1000; missed++) {
        watch.missed();
        if (missed % 100 === 0) await clock.pass(99);
      }
      await clock.pass(10);
      watch.missed();
      await settled();
    },
    calls: [counters, rows, counters, rows],
  },
  {
    title: "does not look for a missing name if no connection is free, until one is",
    run: async ({ watch, database }) => {
      database.isFree = false;
      watch.missed();
      database.isFree = true;
      await settled();
      watch.missed();
      await settled();
    },
    calls: [counters, rows],
  },
];

for (const { title, config: overrides, run, calls } of polls) {
  Deno.test(`SchemaWatch ${title}`, async () => {
    const watched = controlled(overrides);
    await watched.begin();
    await run(watched);
    deepStrictEqual(watched.take(), calls);
  });
}

Deno.test("SchemaWatch with auto expects notifications where an event trigger sends them", async () => {
  const { clock, database, service, take, begin, watch, load } = controlled({
    dbSchemaWatch: "auto",
  });
  database.hasTrigger = true;
  watch.start({ isLoaded: false });
  await load();
  deepStrictEqual(take(), ["trigger for svc"]);
  watch.missed();
  await clock.pass(60_000);
  deepStrictEqual(take(), []);
  // Changes may have been missed when notifications do not arrive: everything is loaded again.
  service.isNotified = false;
  await clock.pass(2000);
  deepStrictEqual(take(), [counters, rows, "changed"]);
  await clock.pass(2000);
  deepStrictEqual(take(), [counters]);
  service.isNotified = true;
  await clock.pass(60_000);
  deepStrictEqual(take(), []);
  service.isNotified = false;
  await begin();
  await clock.pass(2000);
  deepStrictEqual(take(), [counters]);
});

for (const [mode, looks] of [["auto", 0], ["poll", 5]] as const) {
  Deno.test(`SchemaWatch with ${mode} looks ${looks} times at an embedded database`, async () => {
    const { clock, take, begin } = controlled({ dbSchemaWatch: mode }, true);
    await begin();
    await clock.pass(10_000);
    strictEqual(take().length, looks);
  });
}

Deno.test("SchemaWatch does not look before the first load", async () => {
  const { clock, take, watch } = controlled();
  watch.start({ isLoaded: false });
  watch.missed();
  await clock.pass(60_000);
  deepStrictEqual(take(), []);
});

Deno.test("SchemaWatch demands a load of a schema cache that was not loaded from the database", async () => {
  const { clock, take, watch } = controlled();
  watch.start({ isLoaded: true });
  await clock.pass(4000);
  deepStrictEqual(take(), [counters, rows, "changed", counters]);
});

Deno.test("SchemaWatch demands one more load if it could not read the state before the last", async () => {
  const { clock, take, begin, database } = controlled();
  database.isDown = true;
  await begin();
  await clock.pass(2000);
  deepStrictEqual(take(), [counters]);
  database.isDown = false;
  await clock.pass(4000);
  deepStrictEqual(take(), [counters, rows, "changed", counters]);
});

Deno.test("SchemaWatch notices a change during a load", async () => {
  const { clock, take, begin, watch, database } = controlled();
  await begin();
  const record = await watch.beforeLoad(config);
  database.counters = database.fingerprint = "2";
  record();
  take();
  await clock.pass(2000);
  deepStrictEqual(take(), [counters, rows, "changed"]);
});

Deno.test("SchemaWatch.stop waits for the look in progress", async () => {
  const { clock, begin, watch, take } = controlled();
  await begin();
  const passing = clock.pass(2000);
  await watch.stop();
  deepStrictEqual(take(), [counters]);
  await passing;
});
