/** A thousand clients at once, a pool of ten: who waits is served in turn. @module */
import { startLoad } from "./load.ts";
import { openPlace } from "./place.ts";
import { type FaultReport, type Scale, writeProblems } from "./report.ts";

const sizes = {
  short: { clients: 1000, answers: 3000 },
  full: { clients: 1000, answers: 50_000 },
} as const;

const pool = 10;

/** Runs the fault. */
export async function manyClients(scale: Scale): Promise<FaultReport> {
  const { clients, answers } = sizes[scale];
  await using place = await openPlace({ config: { "db-pool": pool } });
  const load = startLoad({ port: place.port, clients });
  await load.progress(answers);
  await load.stop();
  const writes = await place.asOwner((client) => load.ledger.compare(client));
  return {
    fault: `${clients} clients against a pool of ${pool}`,
    requests: load.tally.counts,
    writes,
    figures: {
      "median": `${Math.round(load.tally.quantile(0.5))} ms`,
      "slowest": `${Math.round(load.tally.quantile(1))} ms`,
    },
    problems: [...load.tally.problems, ...writeProblems(writes)],
  };
}
