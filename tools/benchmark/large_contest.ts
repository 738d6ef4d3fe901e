/** Measures the cases of which one request at a time is enough. @module */
import { memoryOf } from "../../tests/support/server/process_memory.ts";
import { type Bench, progress, runSql, startServers } from "./bench.ts";
import { type Contender, contest, type Standing } from "./contest.ts";
import { serverConfig } from "./fixture.ts";
import { type LargeCase, largeCases, type LargeField, measureBare, measureLarge } from "./large.ts";
import { isInSet, isWanted } from "./options.ts";

/** What came of a case. */
export interface LargeStanding extends Standing<LargeField> {
  readonly name: string;
}

/** Fewer runs of a large request say little. */
const fewestRounds = 3;

/** Measures all cases that are asked for, each with servers that have seen nothing large before. */
export async function contestLarge(bench: Bench): Promise<readonly LargeStanding[]> {
  if (!isInSet(bench.options, "large")) return [];
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
  if (each.floor !== null) contenders.push(bareOf(each.floor, bench));
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

/** The statement on a connection with no server around it. */
function bareOf(text: string, { postgres, postmaster }: Bench): Contender<LargeField> {
  const uri = String(serverConfig(postgres)["db-uri"]);
  return { name: "floor", run: () => measureBare(text, { uri, postmaster }) };
}
