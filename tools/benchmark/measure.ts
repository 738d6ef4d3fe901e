/** Measures one server at one case. @module */
import { memoryOf, resetPeak } from "../../tests/support/server/process_memory.ts";
import { machineTime, processTime } from "./process_time.ts";
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
  /** Share of the processors that other processes used, from 0 to 1. */
  | "otherLoad"
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
 * Sends a load and tells what it cost. A run in which not every connection got an answer has no
 * meaning: it is made again, longer. Raises an `Error` when that is of no use.
 */
export async function measureLoad(request: LoadRequest, options: RunOptions): Promise<LoadFigures> {
  const { server, postmaster, connections, seconds } = options;
  await resetPeak(server.pid);
  const usage = await startUsage(postmaster);
  const before = await processTime(server.pid);
  const result = await runWrk(request, { origin: server.origin, connections, seconds });
  const after = await processTime(server.pid);
  const { postgresCpu, otherLoad } = await usage.used();
  if (result.requests < connections) {
    if (seconds < longest) return await measureLoad(request, { ...options, seconds: 4 * seconds });
    throw new Error(
      `${server.name}: ${result.requests} answers in ${seconds} s to ${request.line}`,
    );
  }
  return {
    ...loadFigures(result),
    cpu: (after - before) / result.requests,
    postgresCpu: postgresCpu / result.requests,
    otherLoad,
    peakMemory: await memoryOf(server.pid, "VmHWM") / 1_000_000,
  };
}

function loadFigures({ perSecond, p50, p99, refused, broken }: LoadResult) {
  return { perSecond, p50, p99, failed: refused + broken };
}

/** What the processors did since a moment. */
export interface Usage {
  used(): Promise<{
    /** Processor time of PostgreSQL, in microseconds. */
    readonly postgresCpu: number;
    readonly otherLoad: number;
  }>;
}

/** Starts to count. All but PostgreSQL descends from this process. */
export async function startUsage(postmaster: number): Promise<Usage> {
  const times = async () => {
    const [postgres, own] = [await processTime(postmaster), await processTime(Deno.pid)];
    return { postgres, own, machine: await machineTime(), now: performance.now() };
  };
  const before = await times();
  return {
    used: async () => {
      const after = await times();
      const postgresCpu = after.postgres - before.postgres;
      const others = after.machine - before.machine - (after.own - before.own) - postgresCpu;
      const capacity = (after.now - before.now) * 1000 * navigator.hardwareConcurrency;
      return { postgresCpu, otherLoad: Math.max(0, others / capacity) };
    },
  };
}

/** Process of the PostgreSQL server whose files are in a folder. */
export async function postmasterOf(folder: string): Promise<number> {
  return parseInt(await Deno.readTextFile(`${folder}/data/postmaster.pid`));
}
