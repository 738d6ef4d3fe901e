/** PostgreSQL stops and starts again, by turns in order and at once, while clients read and insert.
 * @module */
import type { StopMode } from "../../support/database/postgres_server.ts";
import { startLoad } from "./load.ts";
import { openPlace } from "./place.ts";
import { type FaultReport, type Scale, writeProblems } from "./report.ts";

const sizes = {
  short: { restarts: 2, clients: 8, answersBetween: 200 },
  full: { restarts: 10, clients: 16, answersBetween: 2000 },
} as const;

/** `fast` tells the sessions why they end, `immediate` does not. */
const modes: readonly StopMode[] = ["fast", "immediate"];

/** Runs the fault. */
export async function restartUnderLoad(scale: Scale): Promise<FaultReport> {
  const { restarts, clients, answersBetween } = sizes[scale];
  await using place = await openPlace();
  const load = startLoad({
    port: place.port,
    clients,
    expected: (status, code) => status === 503 && databaseIsAway.has(code),
  });
  let slowestReturn = 0;
  for (let turn = 0; turn < restarts; turn++) {
    await load.progress(answersBetween);
    await place.server.halt(modes[turn % modes.length]!);
    await load.failures(clients);
    await place.server.resume();
    const back = performance.now();
    await load.progress(1);
    slowestReturn = Math.max(slowestReturn, performance.now() - back);
  }
  await load.progress(answersBetween);
  await load.stop();
  const writes = await place.asOwner((client) => load.ledger.compare(client));
  return {
    fault: `PostgreSQL stopped and started ${restarts} times`,
    requests: load.tally.counts,
    writes,
    figures: { "answers again after at most": `${Math.round(slowestReturn)} ms` },
    problems: [...load.tally.problems, ...writeProblems(writes)],
  };
}

/** No connection; a broken one; the server says that it ends. */
const databaseIsAway: ReadonlySet<string> = new Set(["SVC000", "SVC001", "57P01"]);
