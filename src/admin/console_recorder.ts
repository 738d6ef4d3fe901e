/**
 * Makes the recorder of a service's console.
 *
 * @module
 */
import process from "node:process";
import { schedule } from "../lib/timers.ts";
import type { Metrics } from "../observe/metrics.ts";
import type { Service } from "../service/service.ts";
import { Recorder } from "./recorder.ts";

/** Returns the resident memory of the process in bytes. */
export function residentMemory(): number {
  return process.memoryUsage.rss();
}

/** A service whose requests are recorded. */
export interface RecordedService extends Pick<Service, "snapshot"> {
  metrics(): Pick<Metrics, "pool" | "jwtCache">;
}

/** Makes the recorder. `service` returns the service once it exists: no request comes before it. */
export function consoleRecorder(service: () => RecordedService | null): Recorder {
  const noMetrics = {
    pool: { open: 0, inUse: 0, waiting: 0, timeouts: 0 },
    jwtCache: { lookups: 0, hits: 0 },
  };
  return new Recorder({
    slowMs: () => (service()?.snapshot.config.adminSlowRequest ?? Infinity) * 1000,
    gauges: () => {
      const { pool, jwtCache } = service()?.metrics() ?? noMetrics;
      return { pool, jwtCache, memory: residentMemory() };
    },
    now: Date.now,
    schedule,
  });
}
