/** All connections of the service are terminated again and again while clients read and insert.
 * @module */
import type { PostgresClient } from "../../support/database/postgres_client.ts";
import { startLoad } from "./load.ts";
import { openPlace } from "./place.ts";
import { type FaultReport, type Scale, writeProblems } from "./report.ts";

const sizes = {
  short: { rounds: 20, clients: 8, answersBetween: 50 },
  full: { rounds: 300, clients: 16, answersBetween: 100 },
} as const;

/** Runs the fault. */
export async function terminateConnections(scale: Scale): Promise<FaultReport> {
  const { rounds, clients, answersBetween } = sizes[scale];
  await using place = await openPlace();
  const load = startLoad({
    port: place.port,
    clients,
    expected: (status, code) => status === 503 && (code === "SVC001" || code === "57P01"),
  });
  let terminated = 0;
  await place.asOwner(async (client) => {
    for (let round = 0; round < rounds; round++) {
      await load.progress(answersBetween);
      terminated += await terminateAll(client);
    }
  });
  await load.progress(answersBetween);
  await load.stop();
  const writes = await place.asOwner((client) => load.ledger.compare(client));
  return {
    fault: `all connections terminated ${rounds} times`,
    requests: load.tally.counts,
    writes,
    figures: { "connections terminated": String(terminated) },
    problems: [
      ...load.tally.problems,
      ...writeProblems(writes),
      ...(terminated < rounds ? ["hardly a connection was there to terminate"] : []),
    ],
  };
}

async function terminateAll(client: PostgresClient): Promise<number> {
  const { rows } = await client.query(`
    select count(pg_terminate_backend(pid))::int as n from pg_stat_activity
    where usename = 'authenticator'`);
  return Number(rows[0]?.["n"]);
}
