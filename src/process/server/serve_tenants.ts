/** Runs a process with tenants: start, admin server, API, shutdown. @module */
import type { ConfigReader } from "../../state/config/config_files.ts";
import type { Log } from "./log.ts";
import { untilIdle } from "../../base/lib/time_limits.ts";
import type { HostOpener, ServiceHost } from "../../api/wing.ts";
import { wings } from "../wings.ts";
import { version } from "../../base/version.ts";
import { connectionLimits, untilResponded, waitBeforeShutdown } from "./api_server.ts";
import { countWorkers } from "./count_workers.ts";
import { listen, type Listening } from "./listen.ts";
import { adminListenAddress, apiListenAddress } from "../listen_address.ts";
import { processMetricsText } from "./admin_server.ts";
import { type ReloadSignals, stopSignals } from "./signals.ts";
import { openTracing } from "./tracing.ts";
import { routedAdmin } from "./admin.ts";

export interface ServeTenantsDependencies {
  readonly host: HostOpener;
  readonly reader: ConfigReader;
  readonly log: Log;
  readonly reloads: ReloadSignals;
}

/**
 * Serves until SIGTERM or SIGINT. Resolves with the exit code 0. Rejects with an `Error` of one line if
 * the tenants cannot be read, or if an address cannot be bound.
 */
export async function serveTenants(
  { host, reader, log, reloads }: ServeTenantsDependencies,
): Promise<number> {
  const { config } = reader;
  const { observe } = log;
  observe({ kind: "starting", name: config.dialect.displayName, version });
  countWorkers(config, observe);
  const tenants = await host.open({ reader, observe, wings, tracing: await openTracing() });
  log.setSettings(() => tenants.config);
  let api: Listening | null = null;
  const admin = await listenForAdmin(tenants, { log, isLive: () => api?.isOpen() ?? false });
  const signals = stopSignals(observe);
  tenants.start();
  reloads.connect(tenants);
  api = await listen(apiListenAddress(config), {
    what: "api",
    server: serverName(tenants),
    observe,
    limits: connectionLimits(config),
    serve: tenants.handle,
  });
  const signal = await signals.first;
  if (signal === "SIGTERM") {
    const period = config.serverShutdownWaitPeriod;
    await waitBeforeShutdown({ period, appState: tenants, api, cut: signals.second, observe });
  }
  tenants.endStreams();
  reloads.close();
  await untilResponded(Promise.all([api.shutdown(), admin?.shutdown()]), () => tenants.isBusy);
  // An embedded database must write its data to disk; a server that does not respond ends by itself.
  await untilIdle(tenants.close(), { isBusy: () => false, periodMs: 1000, maxIdleChecks: 5 });
  return 0;
}

function serverName({ config: { dialect } }: ServiceHost): string {
  return `${dialect.productToken}/${version}`;
}

async function listenForAdmin(
  tenants: ServiceHost,
  { log, isLive }: { readonly log: Log; readonly isLive: () => boolean },
): Promise<Listening | null> {
  const address = adminListenAddress(tenants.config);
  if (address === null) return null;
  const routes = tenants.adminRoutes({ isLive, processMetrics: processMetricsText });
  return await listen(address, {
    what: "admin",
    server: serverName(tenants),
    observe: log.observe,
    serve: routedAdmin((path) => routes.get(path) ?? null, {
      dialect: tenants.config.dialect,
      now: Date.now,
      access: () => tenants.config,
    }),
  });
}
