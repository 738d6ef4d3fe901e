/** Thousands of clients keep their connections open and say nothing; others are answered as before.
 * @module */
import { HttpConnection } from "../../support/clients/http_connection.ts";
import { memoryOf } from "../../support/server/process_memory.ts";
import { Ledger } from "./ledger.ts";
import { type Books, read, startLoad } from "./load.ts";
import { openPlace, type Place } from "./place.ts";
import { addRequests, type FaultReport, type Scale, writeProblems } from "./report.ts";
import { Tally } from "./tally.ts";

const sizes = {
  short: { connections: 1000, clients: 4, answers: 1000 },
  full: { connections: 10_000, clients: 8, answers: 20_000 },
} as const;

/** Not all at once: the system keeps so many waiting until they are accepted, and no more. */
const openedAtOnce = 100;

/** Runs the fault. */
export async function idleConnections(scale: Scale): Promise<FaultReport> {
  const { connections, clients, answers } = sizes[scale];
  await using place = await openPlace();
  const { port, service: { pid } } = place;
  const ledger = new Ledger();
  const alone: Books = { tally: new Tally(), ledger };
  const beside: Books = { tally: new Tally(), ledger };
  const idle: Books = { tally: new Tally(), ledger };
  const load = async (books: Books) => {
    const running = startLoad({ port, clients, books });
    await running.progress(answers);
    await running.stop();
  };
  await load(alone);
  const memory = await memoryOf(pid, "VmRSS");
  using opened = await openIdle(place, connections, idle);
  const each = (await memoryOf(pid, "VmRSS") - memory) / connections;
  await load(beside);
  // Those that were silent are served as well.
  await Promise.all(opened.connections.map((connection) => read(connection, idle)));
  const writes = await place.asOwner((client) => ledger.compare(client));
  const [usual, median] = [alone.tally.quantile(0.5), beside.tally.quantile(0.5)];
  return {
    fault: `${connections} idle connections`,
    requests: addRequests(addRequests(alone.tally.counts, beside.tally.counts), idle.tally.counts),
    writes,
    figures: {
      "memory each": `${(each / 1000).toFixed(1)} kB`,
      "median": `${median.toFixed(2)} ms`,
      "before": `${usual.toFixed(2)} ms`,
    },
    problems: [
      ...[alone, beside, idle].flatMap(({ tally }) => tally.problems),
      ...writeProblems(writes),
    ],
  };
}

/** Connections that have had one answer each and stay open. */
interface OpenConnections extends Disposable {
  readonly connections: readonly HttpConnection[];
}

async function openIdle({ port }: Place, count: number, books: Books): Promise<OpenConnections> {
  using stack = new DisposableStack();
  const connections: HttpConnection[] = [];
  while (connections.length < count) {
    const next = Array.from({ length: Math.min(openedAtOnce, count - connections.length) });
    const opened = await Promise.all(next.map(() => HttpConnection.connect(port)));
    for (const connection of opened) connections.push(stack.use(connection));
    await Promise.all(opened.map((connection) => read(connection, books)));
  }
  const owned = stack.move();
  return { connections, [Symbol.dispose]: () => owned.dispose() };
}
