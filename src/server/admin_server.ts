/** Starts the admin server. @module */
import { adminHandler } from "../admin/admin.ts";
import type { HandleApi } from "../admin/console_routes.ts";
import { consoleFilesReader } from "../admin/console_files.ts";
import { residentMemory } from "../admin/recorder.ts";
import type { ConsoleParts } from "../admin/console_routes.ts";
import type { Recorder } from "../admin/recorder.ts";
import type { Config } from "../config/options.ts";
import type { Finding } from "../diagnosis/finding.ts";
import type { Service } from "../service/service.ts";
import { version } from "../version.ts";
import { listen, type Listening } from "./listen.ts";
import { adminListenAddress } from "./listen_address.ts";
import { processMetricsText } from "./process_metrics.ts";

/** Whether the configuration turns the console on. */
export function hasConsole(config: Config): boolean {
  return config.adminConsoleEnabled && adminListenAddress(config) !== null;
}

/** Dependencies of {@linkcode serveAdmin} apart from the service. */
export interface AdminServerOptions {
  readonly config: Config;
  readonly isLive: () => boolean;
  /** Null without a console. */
  readonly recorder: Recorder | null;
  readonly handleApi: HandleApi;
  readonly diagnose: () => Promise<readonly Finding[]>;
  /** Returns the metrics of the service. Default: those of its own thread. */
  readonly serviceMetrics?: (() => Promise<string>) | undefined;
}

/** Serves the admin server if the configuration has an address for it. */
export async function serveAdmin(
  service: Service,
  { config, isLive, recorder, handleApi, diagnose, serviceMetrics }: AdminServerOptions,
): Promise<Listening | null> {
  const listenAddress = adminListenAddress(config);
  if (listenAddress === null) return null;
  const consoleParts: Omit<ConsoleParts, "isLive"> | null = recorder === null
    ? null
    : { readFiles: consoleFilesReader(), recorder, handleApi, diagnose, memory: residentMemory };
  return await listen(listenAddress, {
    what: "admin",
    server: `${service.dialect.productToken}/${version}`,
    observe: service.observe,
    serve: adminHandler(service, {
      isLive,
      consoleParts,
      serviceMetrics,
      processMetrics: processMetricsText,
    }),
  });
}
