/**
 * Serves from the first signal to the last: start, admin server, first load, API, end.
 *
 * @module
 */
import { adminHandler } from "../admin/admin.ts";
import type { Config } from "../config/options.ts";
import type { PoolCounts } from "../database/database.ts";
import { isEmbedded } from "../database/open.ts";
import { serviceHandler } from "../handler/handler.ts";
import type { Observation } from "../observe/observation.ts";
import { assetReader } from "../admin/page_assets.ts";
import { Service } from "../service/service.ts";
import { version } from "../version.ts";
import { adminBinding, apiBinding } from "./listen_address.ts";
import { type ConfigReader, embeddedFolder, openFor } from "./config_files.ts";
import { listen, type Listening } from "./listen.ts";
import type { Log } from "./log.ts";
import { atMost, whileBusy } from "./deadline.ts";
import { type ReloadSignals, stopSignal } from "./signals.ts";
import { stageTracer } from "./tracing.ts";

/** What a program needs for serving. */
export interface Serving {
  readonly reader: ConfigReader;
  readonly log: Log;
  readonly reloads: ReloadSignals;
}

/**
 * Serves until a signal asks for the end. Resolves with the exit code: 0, or 1 after a fatal failure,
 * which is in the log then. Rejects with an `Error` of one line when the service cannot start.
 */
export async function serve(serving: Serving): Promise<number> {
  const fatal = Promise.withResolvers<number>();
  const served = serveUntilStopped(serving, () => fatal.resolve(1)).then(() => 0);
  return await Promise.race([fatal.promise, served]);
}

async function serveUntilStopped(
  { reader, log, reloads }: Serving,
  onFatal: () => void,
): Promise<void> {
  const { config } = reader;
  const loaded = observing(log.observe, "schema-cache-loaded");
  const { observe } = loaded;
  observe({ kind: "starting", name: config.dialect.displayName, version });
  const began = Date.now();
  const embedded = isEmbedded(config.dbUri);
  if (embedded) observe({ kind: "embedded-starting", folder: embeddedFolder(config) });
  const service = await startService(reader, { ...log, observe, onFatal });
  let api: Listening | null = null;
  const admin = await serveAdmin(service, config, () => api?.isOpen() ?? false);
  const stopped = stopSignal(observe);
  reloads.connect(service);
  service.listen();
  const firstLoad = service.reloadSchema();
  const goesOn = await Promise.race([
    (config.serverReuseport ? loaded.seen : firstLoad).then(() => !service.isEnding),
    stopped.then(() => false),
  ]);
  if (embedded && goesOn) observe({ kind: "embedded-ready", ms: Date.now() - began });
  if (goesOn) api = await serveApi(service, config);
  await stopped;
  reloads.close();
  await whileBusy(Promise.all([api?.shutdown(), admin?.shutdown()]), {
    isBusy: () => isAtWork(service.database.counts()),
    period: 1000,
    looks: patience,
  });
  // Data in this process must be on disk; a server manages without a farewell.
  await (embedded ? service.close() : atMost(farewell, service.close()));
}

/**
 * Seconds without work for the database after which the end comes, whoever has sent half a request:
 * the other half may never come.
 */
const patience = 20;

function isAtWork({ inUse, waiting }: PoolCounts): boolean {
  return inUse > 0 || waiting > 0;
}

/** Milliseconds for closing connections, of which one may still be waiting for its server. */
const farewell = 500;

async function startService(
  { file, config, first, read }: ConfigReader,
  { observe, follow, onFatal }: Pick<Log, "observe" | "follow"> & { readonly onFatal: () => void },
): Promise<Service> {
  const service = await Service.create({
    source: read,
    first,
    database: await openFor(config, file),
    now: Date.now,
    observe,
    onFatal,
    traceStage: await stageTracer(),
    unloaded: "that",
  });
  follow(() => service.snapshot.config.logLevel);
  return service;
}

function serveApi(service: Service, config: Config): Promise<Listening> {
  const handle = serviceHandler(service);
  return listen(apiBinding(config), {
    what: "api",
    server: `${service.dialect.productToken}/${version}`,
    observe: service.observe,
    serve: handle,
  });
}

async function serveAdmin(
  service: Service,
  config: Config,
  isLive: () => boolean,
): Promise<Listening | null> {
  const binding = adminBinding(config);
  if (binding === null) return null;
  return await listen(binding, {
    what: "admin",
    server: `${service.dialect.productToken}/${version}`,
    observe: service.observe,
    serve: adminHandler(service, { isLive, readAsset: assetReader() }),
  });
}

/** Lets events through, and tells when the first of a kind was seen. */
function observing(observe: (event: Observation) => void, kind: Observation["kind"]) {
  const { promise: seen, resolve } = Promise.withResolvers<void>();
  return {
    seen,
    observe: (event: Observation) => {
      observe(event);
      if (event.kind === kind) resolve();
    },
  };
}
