/** PostgreSQL has fewer connections than the pool may open: those that there are serve everybody.
 * When there are none, requests are refused with 503 until there are some again. @module */
import { join } from "node:path";
import type { PostgresClient } from "../../support/database/postgres_client.ts";
import { Ledger } from "./ledger.ts";
import { type Books, startLoad } from "./load.ts";
import { openPlace, type Place } from "./place.ts";
import { addRequests, type FaultReport, type Scale, writeProblems } from "./report.ts";
import { Tally } from "./tally.ts";

const sizes = {
  short: { rounds: 1, clients: 16, answers: 500 },
  full: { rounds: 10, clients: 32, answers: 3000 },
} as const;

/** Three of them are the superuser's. */
const serverConnections = 8;
const pool = 10;

/** Runs the fault. */
export async function connectionShortage(scale: Scale): Promise<FaultReport> {
  const { rounds, clients, answers } = sizes[scale];
  await using place = await openPlace({
    settings: { max_connections: String(serverConnections) },
    config: { "db-pool": pool },
  });
  const ledger = new Ledger();
  const few: Books = { tally: new Tally(), ledger };
  const none: Books = {
    tally: new Tally((status, code) => status === 503 && isConnectionLoss.has(code)),
    ledger,
  };
  const { port } = place;
  // Connected before the others leave no room.
  const writes = await place.asOwner(async (client) => {
    for (let round = 0; round < rounds; round++) {
      const served = startLoad({ port, clients, books: few });
      await served.progress(answers);
      await served.stop();
      const refused = startLoad({ port, clients, books: none });
      await refused.progress(1);
      await withoutConnections(client, () => refused.failures(answers / 10));
      await refused.progress(answers / 10);
      await refused.stop();
    }
    return await ledger.compare(client);
  });
  return {
    fault: `a pool of ${pool} and ${serverConnections - 3} connections, then none, ${rounds} times`,
    requests: addRequests(few.tally.counts, none.tally.counts),
    writes,
    figures: { "connections that PostgreSQL refused": String(await refusals(place)) },
    problems: [...few.tally.problems, ...none.tally.problems, ...writeProblems(writes)],
  };
}

const isConnectionLoss: ReadonlySet<string> = new Set(["SVC000", "SVC001", "57P01"]);

/** Takes all connections away from the service for a while. */
async function withoutConnections(
  client: PostgresClient,
  during: () => Promise<void>,
): Promise<void> {
  await client.query("alter role authenticator connection limit 0");
  await client.query(
    "select pg_terminate_backend(pid) from pg_stat_activity where usename = 'authenticator'",
  );
  await during();
  await client.query("alter role authenticator connection limit -1");
}

async function refusals({ server }: Place): Promise<number> {
  const log = await Deno.readTextFile(join(server.folder, "log"));
  return log.match(/FATAL: .*(too many|remaining connection slots)/g)?.length ?? 0;
}
