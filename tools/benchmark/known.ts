/** Compares the service with a peer, by requests of published benchmarks and by requests under
 * policies. @module */
import { deepStrictEqual } from "node:assert/strict";
import { type Bench, progress, runSql, startServers, untilIdle } from "./bench.ts";
import { type Contender, contest, type Standing } from "./contest.ts";
import { geometricMean } from "./figures.ts";
import { makeUsers } from "./fixture.ts";
import { type KnownCase, knownCasesOf, type KnownSet } from "./known_cases.ts";
import { knownFixture, policiesFixture } from "./known_fixture.ts";
import { type LoadField, measureLoad } from "./measure.ts";
import { isWanted } from "./options.ts";
import { bodyFrom } from "./probe.ts";
import { times } from "./report.ts";
import type { BenchServer } from "./servers.ts";
import { markdownTable, shown } from "./table.ts";
import { spreadDraws } from "./template.ts";

/** Returns a table of the cases of a set that the options select. */
export async function measureKnown(set: KnownSet, bench: Bench): Promise<string> {
  await runSql(bench, set === "known" ? knownFixture : policiesFixture);
  await runSql(bench, "vacuum analyze");
  const cases = knownCasesOf(set, await makeUsers());
  await using servers = await startServers(bench, { "db-tx-end": "commit-allow-override" });
  const rows: string[][] = [];
  const ratios: number[] = [];
  for (const each of cases.filter(({ name }) => isWanted(bench.options, name))) {
    await compareAnswers(each, servers.all);
    const { service, peer } = await measureCase(each, { bench, servers: servers.all });
    if (peer !== null) ratios.push(service!.perSecond / peer.perSecond);
    rows.push([each.name, ...figureCells({ service, peer })]);
  }
  if (ratios.length > 0) {
    rows.push(["geometric mean", "", "", times(geometricMean(ratios)), "", "", "", ""]);
  }
  const heads = ["requests/s", "peer", "ratio", "CPU µs", "peer", "p99 ms", "peer"];
  return markdownTable(["case", ...heads], rows);
}

/** Throws an `Error` unless all servers return the status of a case and, for reads, the same JSON. */
async function compareAnswers(each: KnownCase, servers: readonly BenchServer[]): Promise<void> {
  const isCompared = each.request.line.startsWith("GET /") && !notCompared.test(each.request.line);
  for (const draw of spreadDraws(each.request.users, 5)) {
    const bodies: unknown[] = [];
    for (const server of servers) bodies.push(await bodyFrom(server, each, draw));
    if (!isCompared) continue;
    for (const body of bodies) deepStrictEqual(body, bodies[0], `${each.name}: answers differ`);
  }
}

/** Answers that always differ: the OpenAPI document, and a function that returns the time. */
const notCompared = /^GET \/(?:rpc\/perf_minimal)?$/;

async function measureCase(
  { name, request, connections }: KnownCase,
  { bench, servers }: { readonly bench: Bench; readonly servers: readonly BenchServer[] },
): Promise<Standing<LoadField>> {
  const { postmaster, options } = bench;
  const contenders = servers.map((server): Contender<LoadField> => ({
    name: server.name,
    run: (seconds) =>
      measureLoad(request, {
        server,
        postmaster,
        connections: connections ?? options.connections,
        seconds,
      }),
  }));
  return await contest(contenders, {
    rounds: options.rounds,
    seconds: options.seconds,
    warmUp: options.seconds,
    highest: ["failed", "peakMemory", "otherLoad"],
    before: () => untilIdle(bench),
    progress: (server, { perSecond, failed }) => {
      progress(`${name}, ${server}: ${Math.round(perSecond)} requests/s`);
      if (failed > 0) throw new Error(`${name}, ${server}: ${failed} requests failed`);
    },
  });
}

function figureCells(
  { service, peer }: Pick<Standing<LoadField>, "peer" | "service">,
): readonly string[] {
  const pair = (field: LoadField) => [service, peer].map((each) => shown(each?.[field] ?? null));
  const ratio = times(peer && service!.perSecond / peer.perSecond);
  return [...pair("perSecond"), ratio, ...pair("cpu"), ...pair("p99")];
}
