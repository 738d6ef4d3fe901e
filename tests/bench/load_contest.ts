/**
 * Measures the cases under load.
 *
 * @module
 */
import { type BatchSource, openBatchSource } from "./batches.ts";
import { type Bench, progress, runSql, startServers, untilIdle } from "./bench.ts";
import { floorCase, type LoadCase, loadCases } from "./cases.ts";
import { type Contender, contest, type Standing } from "./contest.ts";
import { makeTokens, serverConfig } from "./fixture.ts";
import { batchesOf, measureFloor } from "./floor.ts";
import { type LoadField, measureLoad } from "./measure.ts";
import { isWanted } from "./options.ts";
import { probe } from "./probe.ts";
import type { BenchServer } from "./servers.ts";

/** What came of a case. */
export interface LoadStanding extends Standing<LoadField> {
  readonly name: string;
}

/** Measures all cases that are asked for. */
export async function contestLoads(bench: Bench): Promise<readonly LoadStanding[]> {
  const cases = loadCases(await makeTokens(1000)).filter(({ name }) =>
    isWanted(bench.options, name)
  );
  if (cases.length === 0) return [];
  await using servers = await startServers(bench);
  await using source = await openBatchSource(serverConfig(bench.postgres));
  await using second = await openBatchSource(serverConfig(bench.postgres));
  const results: LoadStanding[] = [];
  for (const each of cases) {
    const sources = [source, second] as const;
    results.push(await contestLoad(each, { bench, servers: servers.all, sources }));
  }
  return results;
}

interface Field {
  readonly bench: Bench;
  readonly servers: readonly BenchServer[];
  /** Of the floor's batches, and of connections that send them. */
  readonly sources: readonly [BatchSource, BatchSource];
}

async function contestLoad(each: LoadCase, field: Field): Promise<LoadStanding> {
  const { bench, servers } = field;
  const { connections, seconds, rounds } = bench.options;
  const before = async () => {
    await untilIdle(bench);
    if (each.reset !== undefined) await runSql(bench, each.reset);
  };
  await before();
  await probe(each, servers);
  const contenders: Contender<LoadField>[] = servers.map((server) => ({
    name: server.name,
    run: (seconds) =>
      measureLoad(each.request, { server, postmaster: bench.postmaster, connections, seconds }),
  }));
  if (each.name === floorCase) contenders.push(await floorOf(each, field));
  const standing = await contest(contenders, {
    rounds,
    seconds,
    warmUp: Math.max(3, Math.ceil(seconds / 3)),
    highest: ["failed", "peakMemory"],
    before,
    progress: (name, { perSecond }) =>
      progress(`${each.name}, ${name}: ${Math.round(perSecond)} requests/s`),
  });
  return { name: each.name, ...standing };
}

async function floorOf(
  { request }: LoadCase,
  { bench, sources }: Field,
): Promise<Contender<LoadField>> {
  const { postmaster, options } = bench;
  const batches = await batchesOf(request, sources[0]);
  const sends = sources.map(({ send }) => send);
  const common = { sends, postmaster, callers: options.connections };
  return { name: "floor", run: (seconds) => measureFloor(batches, { ...common, seconds }) };
}
