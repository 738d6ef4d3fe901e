/**
 * Measures answers when more requests come than the service can serve.
 *
 * Each request holds a connection for some milliseconds, so the pool is what runs out. Requests are sent at a
 * rate, whether earlier ones were answered or not, as many independent clients send them.
 *
 * @module
 */
import { type Bench, pause, progress, runSql } from "./bench.ts";
import { percentile } from "./figures.ts";
import { serverConfig } from "./fixture.ts";
import { type BenchServer, ownCommand, startServer } from "./servers.ts";
import { markdownTable, shown } from "./table.ts";

/** A function that takes 20 ms. */
const pausing = `
  create function api.pause() returns int stable language plpgsql
    as $$ begin perform pg_sleep(0.02); return 1; end $$;
`;

/** Ways to shed load. */
const guards:
  readonly (readonly [name: string, config: Readonly<Record<string, string | number>>])[] = [
    ["none", {}],
    ["server-max-requests = 20", { "server-max-requests": 20 }],
  ];

/** Rates, as parts of the rate that the service can serve. */
const loads = [0.5, 2, 5] as const;
/** Clients that send one request after the other, to find that rate. */
const closedClients = 20;
/** Milliseconds between two bursts of requests. */
const burstMs = 5;

const heads = [
  "shedding",
  "load",
  "sent/s",
  "served/s",
  "of peak %",
  "refused/s",
  "p50 ms",
  "p99 ms",
];

/** Measures each guard, and writes the table as Markdown. Needs the schema of the fixture. */
export async function measureOverload(bench: Bench): Promise<string> {
  await runSql(bench, pausing);
  const cells: string[][] = [];
  for (const [name, guard] of guards) {
    const config = { ...serverConfig(bench.postgres), "db-pool-acquisition-timeout": 10, ...guard };
    await using server = await startServer("service", ownCommand, { config, probe: "/rpc/pause" });
    const seconds = bench.options.seconds;
    const peak = await peakRate(server, seconds);
    progress(`${name}: ${shown(peak)} requests/s at most`);
    for (const load of loads) {
      const { sent, served, refused } = await sendAtRate(server, peak * load, seconds);
      cells.push([
        name,
        `${load} ×`,
        shown(sent / seconds),
        shown(served.length / seconds),
        shown(100 * served.length / seconds / peak),
        shown(refused / seconds),
        shown(percentile(served, 50)),
        shown(percentile(served, 99)),
      ]);
    }
  }
  return markdownTable(heads, cells);
}

/** Returns the requests per second that clients reach which wait for their answers. */
async function peakRate(server: BenchServer, seconds: number): Promise<number> {
  const end = performance.now() + seconds * 1000;
  let served = 0;
  const client = async () => {
    while (performance.now() < end) {
      if (await send(server) === null) await pause(burstMs);
      else served++;
    }
  };
  await Promise.all(Array.from({ length: closedClients }, client));
  return served / seconds;
}

interface Outcome {
  readonly sent: number;
  /** Milliseconds of each answer with a result that came in time. */
  readonly served: readonly number[];
  readonly refused: number;
}

/** Sends requests at a rate. Counts those that end while it is sending, and waits for the others. */
async function sendAtRate(server: BenchServer, rate: number, seconds: number): Promise<Outcome> {
  const start = performance.now();
  const end = start + seconds * 1000;
  const served: number[] = [];
  const pending: Promise<void>[] = [];
  let refused = 0;
  let sent = 0;
  while (performance.now() < end) {
    const due = Math.floor((performance.now() - start) / 1000 * rate);
    for (; sent < due; sent++) {
      pending.push(
        send(server).then((milliseconds) => {
          if (performance.now() > end) return;
          if (milliseconds === null) refused++;
          else served.push(milliseconds);
        }),
      );
    }
    await pause(burstMs);
  }
  await Promise.all(pending);
  return { sent, served, refused };
}

/** Returns the milliseconds until the whole answer; null for a refusal. */
async function send({ origin }: BenchServer): Promise<number | null> {
  const began = performance.now();
  const response = await fetch(`${origin}/rpc/pause`);
  await response.body?.cancel();
  return response.ok ? performance.now() - began : null;
}
