/** Rows of the suites of reads and writes, with 60 random configurations: options that change no
 * answer must not change it together either. */
import { deepStrictEqual } from "node:assert/strict";
import { type ApiConfig, checkOnce, declaredSuites, openHandler } from "../support/handler/api.ts";
import { engines, type TestDatabase } from "../support/database/engines.ts";
import { seededRandom } from "../support/timing/random.ts";
import { buffered, buildRequest } from "../support/handler/request.ts";

const seed = 20_251;
const configurations = 60;
const rowsPerConfiguration = 4;
/** Databases take most of the time. */
const maxFixtures = 6;

/** Values of each option, with which each row has the same answer. */
const values = {
  dbPool: [1, 10],
  dbPipelining: [true, false],
  dbPreparedStatements: [true, false],
  dbStatementTimeout: [null, "60s"],
  dbMaxCost: [null, 1e12],
  dbTraceApplicationName: [true, false],
  jwtCacheMaxEntries: [0, 1000],
  serverCompression: [[], ["gzip"]],
  serverTimingEnabled: [true, false],
  serverRequestTimeout: ["0s", "60s"],
  serverQueryMethod: [true, false],
  batchMaxOperations: [0, 10],
} as const;

const register = Deno.test;
Object.assign(Deno, { test: () => {} });
for (const { name } of Deno.readDirSync(new URL(".", import.meta.url))) {
  if (/^(read|write)_(?!.*property).*_test\.ts$/.test(name)) await import(`./${name}`);
}
Object.assign(Deno, { test: register });

Deno.test("answers are the same with random configurations", async (t) => {
  const random = seededRandom(seed);
  const databases = new Map<string, Promise<TestDatabase>>();
  const candidates = declaredSuites.filter(({ rows, config }) =>
    rows.length > 0 && config.dbTxEnd === undefined
  );
  const fixtures = new Set<string>();
  while (fixtures.size < maxFixtures) fixtures.add(random.pick(candidates).fixture.name);
  const suites = candidates.filter(({ fixture }) => fixtures.has(fixture.name));
  const pairs = new Set<string>();
  for (let run = 0; run < configurations; run++) {
    const chosen = Object.entries(values).map(([name, list]) => [name, random.pick<unknown>(list)]);
    for (const one of chosen) for (const two of chosen) pairs.add(JSON.stringify([one, two]));
    const suite = suites[run % suites.length]!;
    const { fixture, config, rows } = suite;
    const key = JSON.stringify(fixture);
    if (!databases.has(key)) databases.set(key, engines.pg(fixture));
    const { uri } = await databases.get(key)!;
    const mixed = { ...Object.fromEntries(chosen), ...config, dbTxEnd: "rollback" } as ApiConfig;
    const { handler } = openHandler({ ...mixed, dbUri: uri });
    const send: Parameters<typeof checkOnce>[0] = async (line, parts) =>
      await buffered(
        await handler(await buildRequest({ line, origin: "http://localhost:3000" }, parts)),
      );
    await t.step({
      name: `${run}: ${fixture.name}: ${JSON.stringify(Object.fromEntries(chosen))}`,
      sanitizeOps: false,
      sanitizeResources: false,
      fn: async () => {
        for (let i = 0; i < rowsPerConfiguration; i++) await checkOnce(send, random.pick(rows));
      },
    });
    await handler.close();
  }
  for (const database of databases.values()) await (await database).remove();
  const names = Object.keys(values).length;
  deepStrictEqual(pairs.size, names * 2 + names * (names - 1) * 4);
});
