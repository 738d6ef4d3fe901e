/** Measures one server under the load of one case. @module */
import { memoryOf, resetPeak } from "../../tests/support/server/process_memory.ts";
import { machineTime, processTime } from "./process_time.ts";
import type { BenchServer } from "./servers.ts";
import { type LoadRequest, type LoadResult, runWrk } from "./wrk.ts";

/** The figures of a run. Times are in milliseconds, except where a comment names another unit. */
export type LoadField =
  | "perSecond"
  | "p50"
  | "p99"
  /** Processor time of the server for a request, in microseconds. */
  | "cpu"
  /** Processor time of PostgreSQL for a request, in microseconds. */
  | "postgresCpu"
  /** Highest resident memory of the server, in megabytes. */
  | "peakMemory"
  /** Share of the processors that other processes used, from 0 to 1. */
  | "otherLoad"
  /** Number of requests with an error status or without an answer. */
  | "failed";

/** A number for each figure of a run. */
export type LoadFigures = Readonly<Record<LoadField, number>>;

/** The server that gets the load, and the size of the load. */
export interface RunOptions {
  readonly server: BenchServer;
  /** Process of the PostgreSQL server. */
  readonly postmaster: number;
  readonly connections: number;
  readonly seconds: number;
}

/** A run of this many seconds is not repeated with a longer time. */
const longest = 60;

/**
 * Sends a load and returns its figures. If the number of answers is below the number of connections,
 * repeats the run with four times the time. Rejects with an `Error` if the longest run fails, too.
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

/** The use of the processors since a start. */
export interface Usage {
  used(): Promise<{
    /** Processor time of PostgreSQL, in microseconds. */
    readonly postgresCpu: number;
    readonly otherLoad: number;
  }>;
}

/** Starts to measure. All measured programs except PostgreSQL are children of this process. */
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

/** Returns the identifier of the first process of the PostgreSQL server with this data folder. */
export async function postmasterOf(folder: string): Promise<number> {
  return parseInt(await Deno.readTextFile(`${folder}/data/postmaster.pid`));
}
