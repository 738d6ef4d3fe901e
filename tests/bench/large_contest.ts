/**
 * Measures the cases of which one request at a time is enough.
 *
 * @module
 */
import { buildRequest } from "../support/request.ts";
import { memoryOf } from "../support/process_memory.ts";
import { openBatchSource } from "./batches.ts";
import { type Bench, progress, runSql, startServers } from "./bench.ts";
import { type Contender, contest, type Standing } from "./contest.ts";
import { serverConfig } from "./fixture.ts";
import { type LargeCase, largeCases, type LargeField, measureBare, measureLarge } from "./large.ts";
import { isWanted } from "./options.ts";

/** What came of a case. */
export interface LargeStanding extends Standing<LargeField> {
  readonly name: string;
}

/** Fewer runs of a large request say little. */
const fewestRounds = 3;

/** Measures all cases that are asked for, each with servers that have seen nothing large before. */
export async function contestLarge(bench: Bench): Promise<readonly LargeStanding[]> {
  const results: LargeStanding[] = [];
  for (const [name, make] of largeCases) {
    if (isWanted(bench.options, name)) results.push(await contestOne(make(), bench));
  }
  return results;
}

async function contestOne(each: LargeCase, bench: Bench): Promise<LargeStanding> {
  await runSql(bench, each.setup);
  await using servers = await startServers(bench);
  const contenders: Contender<LargeField>[] = [];
  for (const server of servers.all) {
    const baseMemory = await memoryOf(server.pid, "VmRSS");
    const { postmaster } = bench;
    const run = () => measureLarge(each, { server, postmaster, baseMemory });
    contenders.push({ name: server.name, run });
  }
  if (each.request.body === undefined) contenders.push(await bareOf(each, bench));
  const standing = await contest(contenders, {
    rounds: Math.max(fewestRounds, bench.options.rounds),
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

/** The same statement on a connection with no server around it. */
async function bareOf(
  { request }: LargeCase,
  { postgres, postmaster }: Bench,
): Promise<Contender<LargeField>> {
  const config = serverConfig(postgres);
  await using source = await openBatchSource(config);
  const parts = { headers: request.headers };
  const origin = "http://bare";
  const batch = await source.batchOf(await buildRequest({ line: request.line, origin }, parts));
  const uri = String(config["db-uri"]);
  return { name: "floor", run: () => measureBare(uri, batch, postmaster) };
}
