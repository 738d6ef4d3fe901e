/** Measures the cases under load. @module */
import { type Bench, progress, runSql, startServers, untilIdle } from "./bench.ts";
import { casesOf, type LoadSet, loadSets } from "./cases.ts";
import { type Contender, contest, type Standing } from "./contest.ts";
import { makeUsers, serverConfig } from "./fixture.ts";
import { openFloor } from "./floor.ts";
import type { LoadCase } from "./load_case.ts";
import { type LoadField, measureLoad } from "./measure.ts";
import { isInSet, isWanted } from "./options.ts";
import { probe } from "./probe.ts";
import type { BenchServer } from "./servers.ts";

/** The figures of a case. */
export interface LoadStanding extends Standing<LoadField> {
  readonly set: LoadSet;
  readonly name: string;
}

interface CaseOfSet {
  readonly set: LoadSet;
  readonly each: LoadCase;
}

/** Measures all cases that the options select. */
export async function contestLoads(bench: Bench): Promise<readonly LoadStanding[]> {
  const users = await makeUsers();
  const cases: readonly CaseOfSet[] = loadSets
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

interface Field {
  readonly bench: Bench;
  readonly servers: readonly BenchServer[];
}

async function contestLoad(
  each: LoadCase,
  { bench, servers }: Field,
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
