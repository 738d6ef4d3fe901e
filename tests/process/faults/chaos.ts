/** Clients of several roles read, write and leave settings behind, while connections are
 * terminated, objects are replaced and rows are locked. Each answer contains the identity under
 * which it was made. @module */
import { seededRandom } from "../../support/timing/random.ts";
import { testSecret } from "../../support/handler/token.ts";
import { startClients } from "./chaos/clients.ts";
import { disturb } from "./chaos/disturbances.ts";
import { chaosSchema } from "./chaos/schema.ts";
import { signUsers } from "./chaos/users.ts";
import { Versions } from "./chaos/versions.ts";
import { openPlace, type Place } from "./place.ts";
import { type FaultReport, type Scale, writeProblems } from "./report.ts";

const sizes = {
  short: { clients: 40, turns: 80, answersBetween: 40 },
  full: { clients: 48, turns: 2300, answersBetween: 60 },
} as const;

/** Fewer connections than clients, so that batches are pipelined. */
const poolSize = 6;

/** Determines the requests of each client, and the order of the disturbances. */
const seed = 19;

/** Runs the fault. */
export async function chaos(scale: Scale): Promise<FaultReport> {
  await using place = await openPlace({
    sql: chaosSchema,
    config: { "db-pool": poolSize, "db-tx-end": "commit-allow-override", "jwt-secret": testSecret },
  });
  return await place.asOwner((client) => runChaos(place, client, sizes[scale]));
}

async function runChaos(
  place: Place,
  client: Parameters<Parameters<Place["asOwner"]>[0]>[0],
  { clients, turns, answersBetween }: (typeof sizes)[Scale],
): Promise<FaultReport> {
  const versions = new Versions();
  const users = await signUsers();
  const running = startClients({ port: place.port, clients, turns, seed, users, versions });
  const { tally, effects, counts } = running;
  let hasEnded = false;
  const ended = running.ended.then(() => void (hasEnded = true));
  const disturbances = await disturb(
    { place, client, versions, random: seededRandom(seed) },
    async () => {
      await Promise.race([running.answered.more(answersBetween), ended]);
      return !hasEnded;
    },
  );
  await ended;
  const { writes, problems } = await effects.compare(client);
  const figures = { "answers verified": counts.verified, ...disturbances };
  return {
    fault: "roles, claims, settings, terminations and DDL in between",
    requests: tally.counts,
    writes,
    figures: Object.fromEntries(
      Object.entries({
        ...figures,
        "abandoned by clients": counts.abandoned,
        "bodies cut by terminations": counts.cut,
        "statements timed out": counts.timedOut,
      }).map(([name, count]) => [name, String(count)]),
    ),
    problems: [...tally.problems, ...problems, ...writeProblems(writes)],
  };
}
