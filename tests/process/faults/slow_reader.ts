/** Some clients read large answers slowly: others do not notice, and nothing piles up in memory.
 * @module */
import { memoryOf, resetPeak } from "../../support/server/process_memory.ts";
import { Ledger } from "./ledger.ts";
import { type Books, startLoad } from "./load.ts";
import { openPlace } from "./place.ts";
import { addRequests, type FaultReport, type Scale, writeProblems } from "./report.ts";
import { isWhole, longRows, openSlowly } from "./slow_body.ts";
import { Tally } from "./tally.ts";

const sizes = {
  short: { readers: 4, rows: 15_000, clients: 4, answers: 1000 },
  full: { readers: 8, rows: 100_000, clients: 8, answers: 20_000 },
} as const;

const pool = 10;
/** What the runtime keeps of pieces that have passed, until it cleans up; less than is sent. */
const allowedBytes = 100_000_000;

/** Runs the fault. */
export async function slowReaders(scale: Scale): Promise<FaultReport> {
  const { readers, rows, clients, answers } = sizes[scale];
  await using place = await openPlace({ sql: longRows, config: { "db-pool": pool } });
  const { port, service: { pid, origin } } = place;
  const ledger = new Ledger();
  const alone: Books = { tally: new Tally(), ledger };
  const beside: Books = { tally: new Tally(), ledger };
  const before = startLoad({ port, clients, books: alone });
  await before.progress(answers);
  await before.stop();
  const memory = await memoryOf(pid, "VmRSS");
  await resetPeak(pid);
  const meanwhile = startLoad({ port, clients, books: beside });
  const url = `${origin}/rows?limit=${rows}`;
  const opened = await Promise.all(Array.from({ length: readers }, () => openSlowly(url)));
  // The long answers wait for their readers; others wait for nothing.
  await meanwhile.progress(answers);
  const bodies = await Promise.all(opened.map((read) => read()));
  await meanwhile.stop();
  const grown = await memoryOf(pid, "VmHWM") - memory;
  const writes = await place.asOwner((client) => ledger.compare(client));
  const time = beside.tally.quantile(0.99);
  const cut = bodies.filter((body) => !isWhole(body, rows)).length;
  return {
    fault: `${readers} answers of ${megabytes(bodies[0]!.received)} read slowly`,
    requests: addRequests(alone.tally.counts, beside.tally.counts),
    writes,
    figures: {
      "of the others 99 % within": `${time.toFixed(1)} ms`,
      "before": `${alone.tally.quantile(0.99).toFixed(1)} ms`,
      "memory": `+${megabytes(grown)}`,
    },
    problems: [
      ...alone.tally.problems,
      ...beside.tally.problems,
      ...writeProblems(writes),
      ...(cut > 0 ? [`${cut} long answers cut short`] : []),
      ...(grown > allowedBytes ? [`memory grew by ${megabytes(grown)}`] : []),
    ],
  };
}

function megabytes(bytes: number): string {
  return `${Math.round(bytes / 1e6)} MB`;
}
