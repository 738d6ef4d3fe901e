/**
 * Starts the admin server, and records events for its console.
 *
 * @module
 */
import process from "node:process";
import { adminHandler } from "../admin/admin.ts";
import type { HandleApi } from "../admin/console_api.ts";
import { consoleFilesReader } from "../admin/console_files.ts";
import type { ConsoleParts } from "../admin/console_routes.ts";
import { Recorder } from "../admin/recorder.ts";
import type { Config } from "../config/options.ts";
import type { Finding } from "../diagnosis/finding.ts";
import { schedule } from "../lib/timers.ts";
import type { Service } from "../service/service.ts";
import { version } from "../version.ts";
import { listen, type Listening } from "./listen.ts";
import { adminListenAddress } from "./listen_address.ts";
import { processMetricsText } from "./process_metrics.ts";

/** Whether the configuration turns the console on. */
export function hasConsole(config: Config): boolean {
  return config.adminConsoleEnabled && adminListenAddress(config) !== null;
}

/** Makes the recorder of a console; null without one. `service` returns the service once it exists. */
export function consoleRecorder(config: Config, service: () => Service | null): Recorder | null {
  if (!hasConsole(config)) return null;
  const noMetrics = {
    pool: { open: 0, inUse: 0, waiting: 0, timeouts: 0 },
    jwtCache: { lookups: 0, hits: 0 },
  };
  return new Recorder({
    slowMs: () => (service()?.snapshot.config ?? config).adminSlowRequest * 1000,
    gauges: () => {
      const { pool, jwtCache } = service()?.metrics() ?? noMetrics;
      return { pool, jwtCache, memory: process.memoryUsage.rss() };
    },
    now: Date.now,
    schedule,
  });
}

/** Dependencies of {@linkcode serveAdmin} apart from the service. */
export interface AdminServerOptions {
  readonly config: Config;
  readonly isLive: () => boolean;
  /** Null without a console. */
  readonly recorder: Recorder | null;
  readonly handleApi: HandleApi;
  readonly diagnose: () => Promise<readonly Finding[]>;
}

/** Serves the admin server if the configuration has an address for it. */
export async function serveAdmin(
  service: Service,
  { config, isLive, recorder, handleApi, diagnose }: AdminServerOptions,
): Promise<Listening | null> {
  const listenAddress = adminListenAddress(config);
  if (listenAddress === null) return null;
  const memory = () => process.memoryUsage.rss();
  const consoleParts: Omit<ConsoleParts, "isLive"> | null = recorder === null
    ? null
    : { readFiles: consoleFilesReader(), recorder, handleApi, diagnose, memory };
  return await listen(listenAddress, {
    what: "admin",
    server: `${service.dialect.productToken}/${version}`,
    observe: service.observe,
    serve: adminHandler(service, { isLive, consoleParts, processMetrics: processMetricsText }),
  });
}
