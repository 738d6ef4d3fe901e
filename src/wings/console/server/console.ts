/** Opens the console of a thread. @module */
import process from "node:process";
import type { AdminConsole } from "../../../api/wing.ts";
import { schedule } from "../../../base/lib/timers.ts";
import type { PoolCounts } from "../../../database/database.ts";
import { consoleFilesReader } from "./console_files.ts";
import { consoleRoutes } from "./console_routes.ts";
import { Recorder } from "./recorder.ts";

const noConnections = { open: 0, inUse: 0, waiting: 0 };

/** Opens the console. `pool` returns the figures of all pools; null before the service exists. */
export function openConsole(pool: () => PoolCounts | null): AdminConsole {
  const memory = () => process.memoryUsage.rss();
  const recorder = new Recorder({
    gauges: () => ({ pool: pool() ?? noConnections, memory: memory() }),
    now: Date.now,
    schedule,
  });
  const readFiles = consoleFilesReader();
  const routes: AdminConsole["routes"] = (appState, options) =>
    consoleRoutes(appState, { ...options, readFiles, recorder, memory });
  return Object.assign(recorder, { routes });
}
