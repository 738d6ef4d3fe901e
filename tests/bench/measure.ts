/**
 * Measures one server at one case.
 *
 * @module
 */
import { memoryOf, resetPeak } from "../support/process_memory.ts";
import { processTime } from "./process_time.ts";
import type { BenchServer } from "./servers.ts";
import { type LoadRequest, type LoadResult, runWrk } from "./wrk.ts";

/** What is told of a run; times in milliseconds unless said. */
export type LoadField =
  | "perSecond"
  | "p50"
  | "p99"
  /** Processor time of the server for a request, in microseconds. */
  | "cpu"
  /** The same of PostgreSQL. */
  | "postgresCpu"
  /** Resident memory at its highest, in megabytes. */
  | "peakMemory"
  /** Answers that were not what they should be, or did not come. */
  | "failed";

/** What a run costs. */
export type LoadFigures = Readonly<Record<LoadField, number>>;

/** Where the load goes, and how large it is. */
export interface RunOptions {
  readonly server: BenchServer;
  /** Process of the PostgreSQL server. */
  readonly postmaster: number;
  readonly connections: number;
  readonly seconds: number;
}

/** Seconds after which a run is not made longer. */
const longest = 60;

/**
 * Sends a load and tells what it cost. A run in which not even every connection was answered once says
 * nothing: it is made again, longer. Raises an `Error` when that is of no use.
 */
export async function measureLoad(request: LoadRequest, options: RunOptions): Promise<LoadFigures> {
  const { server, postmaster, connections, seconds } = options;
  await resetPeak(server.pid);
  const before = await usedTimes(server.pid, postmaster);
  const result = await runWrk(request, { origin: server.origin, connections, seconds });
  const after = await usedTimes(server.pid, postmaster);
  if (result.requests < connections) {
    if (seconds < longest) return await measureLoad(request, { ...options, seconds: 4 * seconds });
    throw new Error(
      `${server.name}: ${result.requests} answers in ${seconds} s to ${request.line}`,
    );
  }
  return {
    ...loadFigures(result),
    cpu: (after.server - before.server) / result.requests,
    postgresCpu: (after.postgres - before.postgres) / result.requests,
    peakMemory: await memoryOf(server.pid, "VmHWM") / 1_000_000,
  };
}

function loadFigures({ perSecond, p50, p99, refused, broken }: LoadResult) {
  return { perSecond, p50, p99, failed: refused + broken };
}

async function usedTimes(server: number, postmaster: number) {
  return { server: await processTime(server), postgres: await processTime(postmaster) };
}

/** Process of the PostgreSQL server whose files are in a folder. */
export async function postmasterOf(folder: string): Promise<number> {
  return parseInt(await Deno.readTextFile(`${folder}/data/postmaster.pid`));
}
