/** Starts the admin server. @module */
import { adminHandler, type AdminOptions } from "./admin.ts";
import type { Config } from "../../state/config/options.ts";
import { spooledResponse } from "../../api/handler/unread.ts";
import type { AppState } from "../../state/app_state/app_state.ts";
import { version } from "../../base/version.ts";
import { listen, type Listening } from "./listen.ts";
import { adminListenAddress } from "../listen_address.ts";
import { readdirSync } from "node:fs";
import process from "node:process";
import { metricText } from "../../base/observe/metric_registry.ts";

export interface AdminServerOptions extends Omit<AdminOptions, "processMetrics"> {
  readonly config: Config;
}

/** Serves the admin server if the configuration has an address for it. */
export async function serveAdmin(
  appState: AppState,
  { config, ...options }: AdminServerOptions,
): Promise<Listening | null> {
  const listenAddress = adminListenAddress(config);
  if (listenAddress === null) return null;
  const handle = adminHandler(appState, { ...options, processMetrics: processMetricsText });
  return await listen(listenAddress, {
    what: "admin",
    server: `${appState.dialect.productToken}/${version}`,
    observe: appState.observe,
    serve: async (request, info) => spooledResponse(await handle(request, info), appState.database),
  });
}

/** Returns CPU time, memory, start time and open file descriptors, if the system reports them. */
export function processMetricsText(): string {
  const { user, system } = process.cpuUsage();
  const descriptors = countDescriptors();
  const gauge = (value: number, name: string, help: string) =>
    metricText({ name, help }, "gauge", [[[], value]]);
  const seconds = {
    name: "process_cpu_seconds_total",
    help: "Total user and system CPU time spent in seconds",
  };
  return metricText(seconds, "counter", [[[], (user + system) / 1e6]]) +
    gauge(
      process.memoryUsage.rss(),
      "process_resident_memory_bytes",
      "Resident memory size in bytes",
    ) +
    gauge(
      performance.timeOrigin / 1000,
      "process_start_time_seconds",
      "Start time of the process since unix epoch in seconds",
    ) +
    (descriptors === null
      ? ""
      : gauge(descriptors, "process_open_fds", "Number of open file descriptors"));
}

/** Returns the number of descriptors; null if the system has no such folder, or Deno may not read it. */
function countDescriptors(): number | null {
  try {
    // The count omits the open folder itself, which is one of the entries.
    return readdirSync("/proc/self/fd").length - 1;
  } catch {
    return null;
  }
}
