/** Measures how long other requests wait while slow clients read large answers. @module */
import { memoryOf, resetPeak } from "../../tests/support/server/process_memory.ts";
import { type Bench, pause, progress } from "./bench.ts";
import { percentile } from "./figures.ts";
import { serverConfig } from "./fixture.ts";
import { type BenchServer, startServer, watchedCommand } from "./servers.ts";
import { markdownTable, shown } from "./table.ts";

/** Clients that read at the same time; the pool has fewer connections. */
const readers = 14;
/** Rows of 1 KB in the answer of each. */
const rowsPerReader = 58_000;
/** Bytes per second that a client reads, in the notation of curl. */
const readingRate = "4M";
/** Clients of other requests. Each sends one after the other, with a pause between them. */
const otherClients = 4;
const otherPauseMs = 2;
/** Others are measured without readers for this time first. */
const calmMs = 3000;

/** PostgreSQL sends most of the answers within this time. */
const busyMs = 5000;

const heads = [
  "others",
  "requests",
  "p50 ms",
  "p99 ms",
  "busy p99 ms",
  "longest ms",
  "event loop ms",
];

/** Measures, and writes the table as Markdown. Needs the tables of the large answers. */
export async function measureSlowReaders(bench: Bench): Promise<string> {
  const cells: string[][] = [];
  for (let round = 0; round < bench.options.rounds; round++) {
    progress("Starting the service...");
    const config = serverConfig(bench.postgres);
    await using server = await startServer("service", watchedCommand, { config });
    await measureOthers(server, pause(calmMs));
    cells.push(["no readers", ...await measureOthers(server, pause(calmMs))]);
    progress(`${readers} slow readers`);
    const base = await memoryOf(server.pid, "VmRSS");
    await resetPeak(server.pid);
    cells.push(["slow readers", ...await measureOthers(server, readSlowly(server))]);
    const growth = (await memoryOf(server.pid, "VmHWM") - base) / 1e6;
    progress(`growth: ${shown(growth)} MB`);
  }
  return markdownTable(heads, cells);
}

/** Sends other requests until a promise settles. Returns the cells of the table. */
async function measureOthers(server: BenchServer, end: Promise<unknown>): Promise<string[]> {
  const heldBefore = server.stderr.all.length;
  let isOver = false;
  end.then(() => isOver = true);
  const times: number[] = [];
  const start = performance.now();
  let busy = 0;
  const send = async () => {
    while (!isOver) {
      const began = performance.now();
      const id = 1 + Math.floor(Math.random() * 10_000);
      const response = await fetch(`${server.origin}/items?id=eq.${id}`);
      await response.text();
      if (response.status !== 200) throw new Error(`another request: ${response.status}`);
      times.push(performance.now() - began);
      if (began - start < busyMs) busy = times.length;
      await pause(otherPauseMs);
    }
  };
  await Promise.all([end, ...Array.from({ length: otherClients }, send)]);
  const busyTimes = times.slice(0, busy);
  const held = longestHold(server.stderr.all.slice(heldBefore));
  return [
    times.length,
    percentile(times, 50),
    percentile(times, 99),
    percentile(busyTimes, 99),
    Math.max(...times),
    held,
  ].map(shown);
}

/**
 * Returns the longest time for which the event loop was held while it had a processor, in milliseconds.
 * Takes the lines of a watched server.
 */
export function longestHold(lines: readonly string[]): number {
  const held = lines.map((line) => {
    const [, heldMs, waitMs] = /^held ([\d.]+) ms, of which ([\d.]+)/.exec(line) ?? [];
    return heldMs === undefined ? 0 : Number(heldMs) - Number(waitMs);
  });
  return Math.max(0, ...held);
}

async function readSlowly({ origin }: BenchServer): Promise<void> {
  const url = `${origin}/wide?id=lte.${rowsPerReader}`;
  const read = async () => {
    const args = ["-s", "--limit-rate", readingRate, "-o", "/dev/null", "-w", "%{size_download}"];
    const command = new Deno.Command("curl", { args: [...args, url], stdout: "piped" });
    const { success, stdout } = await command.output();
    const bytes = Number(new TextDecoder().decode(stdout));
    if (!success || bytes < rowsPerReader * 1000) throw new Error(`a reader got ${bytes} bytes`);
  };
  await Promise.all(Array.from({ length: readers }, read));
}
