/** Starts the admin server. @module */
import { adminHandler } from "./admin.ts";
import { consoleFilesReader } from "../../wings/console/server/console_files.ts";
import { type Recorder, residentMemory } from "../../wings/console/server/recorder.ts";
import type { ConsoleParts } from "../../wings/console/server/console_routes.ts";
import type { Config } from "../../state/config/options.ts";
import { spooledResponse } from "../../api/handler/unread.ts";
import type { AdminData } from "../../api/wing.ts";
import type { AppState } from "../../state/app_state/app_state.ts";
import { version } from "../../base/version.ts";
import { listen, type Listening } from "./listen.ts";
import { adminListenAddress } from "./listen_address.ts";
import { readdirSync } from "node:fs";
import process from "node:process";
import { metricText } from "../../base/observe/metric_registry.ts";
import type { HandleApi } from "../../api/handler/handler.ts";

/** Whether the configuration turns the console on. */
export function hasConsole(config: Config): boolean {
  return config.adminConsoleEnabled && adminListenAddress(config) !== null;
}

export interface AdminServerOptions {
  readonly config: Config;
  readonly isLive: () => boolean;
  /** Null without a console. */
  readonly recorder: Recorder | null;
  readonly handleApi: HandleApi;
  readonly data: AdminData;
  /** Returns the metrics of the service. Default: the metrics of its thread. */
  readonly serviceMetrics?: (() => Promise<string>) | undefined;
}

/** Serves the admin server if the configuration has an address for it. */
export async function serveAdmin(
  appState: AppState,
  { config, isLive, recorder, handleApi, data, serviceMetrics }: AdminServerOptions,
): Promise<Listening | null> {
  const listenAddress = adminListenAddress(config);
  if (listenAddress === null) return null;
  const consoleParts: Omit<ConsoleParts, "isLive"> | null = recorder === null
    ? null
    : { readFiles: consoleFilesReader(), recorder, handleApi, data, memory: residentMemory };
  const handle = adminHandler(appState, {
    isLive,
    consoleParts,
    serviceMetrics,
    processMetrics: processMetricsText,
  });
  return await listen(listenAddress, {
    what: "admin",
    server: `${appState.dialect.productToken}/${version}`,
    observe: appState.observe,
    serve: async (request, info) => spooledResponse(await handle(request, info), appState.database),
  });
}

/** Returns CPU time, memory, start time and open file descriptors, as far as the system shows them. */
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

/** Returns null where the system has no such folder, or Deno does not permit to read it. */
function countDescriptors(): number | null {
  try {
    // The open folder itself is one of the entries.
    return readdirSync("/proc/self/fd").length - 1;
  } catch {
    return null;
  }
}
