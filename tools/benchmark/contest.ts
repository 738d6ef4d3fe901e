/** Runs contenders in turn, so that other load on the machine affects all of them. @module */
import { memoryOf } from "../../tests/support/server/process_memory.ts";
import { type Bench, progress, runSql, startServers, untilIdle } from "./bench.ts";
import { casesOf, type LoadCase, type LoadSet, loadSets } from "./cases.ts";
import { summarize } from "./figures.ts";
import { makeUsers, serverConfig } from "./fixture.ts";
import { openFloor } from "./floor.ts";
import { type LargeCase, type LargeField, measureBare, measureLarge } from "./large.ts";
import { type LoadField, measureLoad } from "./measure.ts";
import { isInSet, isWanted } from "./options.ts";
import { probe } from "./probe.ts";
import type { BenchServer } from "./servers.ts";

/** The programs that are measured. `floor` is PostgreSQL with the hand-written statement. */
export type ContenderName = "service" | "peer" | "floor";

/** A program that is compared with other ones. */
export interface Contender<Field extends string> {
  readonly name: ContenderName;
  /** Runs once, and resolves with the figures of the run. */
  run(seconds: number): Promise<Readonly<Record<Field, number>>>;
}

/** Number, length and treatment of the runs. */
export interface Rounds<Field extends string> {
  readonly rounds: number;
  readonly seconds: number;
  /** Seconds of a run before the measured ones, or null. */
  readonly warmUp: number | null;
  /** Fields that show the highest figure of the runs instead of the median. */
  readonly highest: readonly NoInfer<Field>[];
  /** Prepares a run. */
  readonly before: () => Promise<void>;
  /** Called after each measured run. */
  readonly progress: (name: ContenderName, run: Readonly<Record<Field, number>>) => void;
}

/** The summary of each contender's runs; null for a contender that does not take part. */
export type Standing<Field extends string> = Readonly<
  Record<ContenderName, Readonly<Record<Field, number>> | null>
>;

/** Runs all contenders once to warm up, and then round by round. */
export async function contest<Field extends string>(
  contenders: readonly Contender<Field>[],
  { rounds, seconds, warmUp, highest, before, progress }: Rounds<Field>,
): Promise<Standing<Field>> {
  const runs = { service: [], peer: [], floor: [] } as Record<
    ContenderName,
    Readonly<Record<Field, number>>[]
  >;
  for (const { run } of warmUp === null ? [] : contenders) {
    await before();
    await run(warmUp!);
  }
  for (let round = 0; round < rounds; round++) {
    for (const { name, run } of contenders) {
      await before();
      const figures = await run(seconds);
      runs[name].push(figures);
      progress(name, figures);
    }
  }
  const summary = (name: ContenderName) =>
    runs[name].length === 0 ? null : summarize(runs[name], highest);
  return { service: summary("service"), peer: summary("peer"), floor: summary("floor") };
}

/** The figures of a case. */
export interface LoadStanding extends Standing<LoadField> {
  readonly set: LoadSet;
  readonly name: string;
}

/** Measures all cases that the options select. */
export async function contestLoads(bench: Bench): Promise<readonly LoadStanding[]> {
  const users = await makeUsers();
  const cases = loadSets
    .filter((set) => isInSet(bench.options, set))
    .flatMap((set) => casesOf(set, users).map((each) => ({ set, each })))
    .filter(({ each }) => isWanted(bench.options, each.name));
  if (cases.length === 0) return [];
  await using servers = await startServers(bench);
  const results: LoadStanding[] = [];
  for (const { set, each } of cases) {
    const standing = await contestLoad(each, { bench, servers: servers.all });
    results.push({ set, name: each.name, ...standing });
  }
  return results;
}

async function contestLoad(
  each: LoadCase,
  { bench, servers }: { readonly bench: Bench; readonly servers: readonly BenchServer[] },
): Promise<Standing<LoadField>> {
  const { postmaster, options: { connections, seconds, rounds } } = bench;
  const uri = String(serverConfig(bench.postgres)["db-uri"]);
  const reset = async () => {
    await untilIdle(bench);
    if (each.reset !== undefined) await runSql(bench, each.reset);
  };
  await probe(each, { servers, uri, reset });
  await using floor = await openFloor(each, uri);
  const contenders: Contender<LoadField>[] = [
    ...servers.map((server): Contender<LoadField> => ({
      name: server.name,
      run: (seconds) => measureLoad(each.request, { server, postmaster, connections, seconds }),
    })),
    {
      name: "floor",
      run: (seconds) => floor.measure({ postmaster, seconds, inFlight: connections }),
    },
  ];
  return await contest(contenders, {
    rounds,
    seconds,
    warmUp: Math.max(3, Math.ceil(seconds / 3)),
    highest: ["failed", "peakMemory", "otherLoad"],
    before: reset,
    progress: (name, { perSecond }) =>
      progress(`${each.name}, ${name}: ${Math.round(perSecond)} requests/s`),
  });
}

/** The figures of a large request. */
export interface LargeStanding extends Standing<LargeField> {
  readonly name: string;
}

/** Measures the cases that the options select. Each case has new servers, which shows memory growth. */
export async function contestLarge(
  bench: Bench,
  { cases, rounds }: { readonly cases: readonly LargeCase[]; readonly rounds: number },
): Promise<readonly LargeStanding[]> {
  const results: LargeStanding[] = [];
  for (const each of cases.filter(({ name }) => isWanted(bench.options, name))) {
    results.push(await contestOne(each, { bench, rounds }));
  }
  return results;
}

async function contestOne(
  each: LargeCase,
  { bench, rounds }: { readonly bench: Bench; readonly rounds: number },
): Promise<LargeStanding> {
  await runSql(bench, each.setup);
  const peer = each.isForPeers ? bench.options.peer : null;
  await using servers = await startServers({ ...bench, options: { ...bench.options, peer } });
  const { postmaster } = bench;
  const contenders: Contender<LargeField>[] = [];
  for (const server of servers.all) {
    const baseMemory = await memoryOf(server.pid, "VmRSS");
    const run = () => measureLarge(each, { server, postmaster, baseMemory });
    contenders.push({ name: server.name, run });
  }
  if (each.floor !== null) {
    const { floor } = each;
    const target = { uri: String(serverConfig(bench.postgres)["db-uri"]), postmaster };
    contenders.push({ name: "floor", run: () => measureBare(floor, target) });
  }
  const standing = await contest(contenders, {
    rounds,
    seconds: 0,
    warmUp: null,
    highest: ["growth"],
    before: async () => {
      if (each.reset !== undefined) await runSql(bench, each.reset);
    },
    progress: (name, { total }) => progress(`${each.name}, ${name}: ${Math.round(total)} ms`),
  });
  return { name: each.name, ...standing };
}
