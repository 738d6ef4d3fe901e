/** Runs the service: start, admin server, first schema load, API, shutdown. @module */
import type { Config } from "../../state/config/options.ts";
import type { Database, PoolCounts } from "../../database/database.ts";
import { isEmbedded } from "../../database/open.ts";
import { deferred } from "../../base/lib/deferred.ts";
import { serviceHandler } from "../../api/handler/handler.ts";
import { adminData, openConsole, wings } from "../wings.ts";
import type { CallWords } from "../../base/observe/call_words.ts";
import type { Observation } from "../../base/observe/observation.ts";
import { AppState } from "../../state/app_state/app_state.ts";
import { version } from "../../base/version.ts";
import { serveAdmin } from "./admin_server.ts";
import {
  closeInTime,
  hasWork,
  serveApi,
  untilResponded,
  waitBeforeShutdown,
} from "./api_server.ts";
import { countWorkers } from "./count_workers.ts";
import { adminListenAddress } from "../listen_address.ts";
import {
  type ConfigReader,
  embeddedFolder,
  openConfiguredDatabase,
} from "../../state/config/config_files.ts";
import type { ApiFront, ServeEvents } from "../../api/command.ts";
import type { Listening } from "./listen.ts";
import type { Log } from "./log.ts";
import { shellWord } from "../../base/lib/shell_word.ts";
import { type ReloadSignals, stopSignals } from "./signals.ts";
import { openTracing } from "./tracing.ts";
import type { WorkerTeam } from "./workers/worker_team.ts";
import { shortPath } from "../../base/lib/files.ts";

export interface ServeDependencies {
  readonly reader: ConfigReader;
  readonly log: Log;
  /** The words that run this program, for advice in the log. */
  readonly call: CallWords;
  readonly reloads: ReloadSignals;
  /** An open database. Default: `serve` opens the database of the configuration. */
  readonly database?: Database | null;
  /** The choices of quick mode; null if not in quick mode. Default: null. */
  readonly quick?:
    | { readonly isLoginRole: boolean; readonly hidesExtensionFunctions: boolean }
    | null;
  /** Whether `/` redirects browsers to the console. Default: false. */
  readonly opensConsole?: boolean;
  /** Opens an {@linkcode ApiFront}, which answers requests in place of the handler. Default: none. */
  readonly front?: ServeEvents["front"];
  /** Wings that precede the wings of the program. Default: none. */
  readonly wings?: ServeEvents["wings"];
}

/** Serves until SIGTERM or SIGINT. Resolves with the exit code: 0, or 1 after a fatal failure,
 * which is logged. Rejects with an `Error` of one line if the service cannot start. */
export async function serve(dependencies: ServeDependencies): Promise<number> {
  const fatal = deferred<number>();
  const served = serveUntilStopped(dependencies, () => fatal.resolve(1)).then(() => 0);
  return await Promise.race([fatal.promise, served]);
}

async function serveUntilStopped(
  { reader, log, call, reloads, database = null, quick = null, ...hooks }: ServeDependencies,
  onFatal: () => void,
): Promise<void> {
  const { config } = reader;
  let created: AppState | null = null;
  const team = await makeTeam(config, log.observe);
  const pool = () => team?.pool ?? created?.database.counts() ?? null;
  const { adminConsole, watchers, observe, loaded } = openFollowers(log, { config, team, pool });
  for (const { requirePackages } of wings) await requirePackages?.(config);
  const embedded = isEmbedded(config.dbUri);
  const began = Date.now();
  observe({ kind: "starting", name: config.dialect.displayName, version });
  if (embedded) observe({ kind: "embedded-starting", folder: embeddedFolder(config) });
  const isTimed = () => adminConsole?.isWatched ?? false;
  const options = { ...log, observe, onFatal, database, quick, team, isTimed };
  const appState = created = await startAppState(reader, options);
  const handleApi = serviceHandler(appState, "shared", [...hooks.wings ?? [], ...wings]);
  const front = hooks.front?.(handleApi) ?? null;
  const audited = { program: call.program, isLoginRole: quick?.isLoginRole ?? false };
  let api: ServingApi | null = null;
  const isLive = () => api?.isOpen() ?? false;
  const serviceMetrics = team === null ? undefined : () => team.metrics(appState);
  const data = adminData(appState, audited);
  const consoleRoute = adminConsole?.routes(appState, { handleApi, data, isLive });
  const admin = await serveAdmin(appState, { config, isLive, consoleRoute, serviceMetrics });
  const signals = stopSignals(observe);
  reloads.connect(appState);
  const starting = startEmbedded(appState, reader)
    .then(() => load(appState))
    .then(() => config.serverReuseport ? loaded : undefined)
    .then(() => !appState.isEnding);
  if (await Promise.race([starting, signals.first.then(() => false)])) {
    if (embedded) observe({ kind: "embedded-ready", ms: Date.now() - began });
    const common = { config, isQuick: quick !== null };
    api = team === null
      ? await serveApi(appState, { ...common, ...hooks, handleApi: front?.handle ?? handleApi })
      : await team.listen(appState, {
        ...common,
        file: reader.file,
        call,
        log,
        adminConsole,
        onFatal,
      });
    for (const watcher of watchers) watcher.start(appState, audited);
  }
  if (await signals.first === "SIGTERM" && api !== null) {
    const period = config.serverShutdownWaitPeriod;
    await waitBeforeShutdown({ period, appState, api, cut: signals.second, observe });
  }
  reloads.close();
  for (const follower of [...watchers, adminConsole]) follower?.stop();
  await stopServing(appState, { api, admin, front, isEmbedded: embedded });
}

/** Opens the watchers of a service, and the function that passes events to them. */
function openFollowers(
  log: Log,
  { config, team, pool }: {
    readonly config: Config;
    readonly team: WorkerTeam | null;
    readonly pool: () => PoolCounts | null;
  },
) {
  const adminConsole = openConsole(config, pool);
  const watchers = wings.flatMap(({ watch }) => watch?.(log.observe) ?? []);
  const loaded = deferred<void>();
  log.tapDiagnostics((line) => adminConsole?.addLine(line));
  const observe = (reported: Observation) => {
    const event = team?.eventOf(reported, config) ?? reported;
    log.observe(event);
    if (event.kind === "schema-cache-loaded") loaded.resolve();
    for (const follower of [...watchers, adminConsole, team]) follower?.observe(event);
  };
  return { adminConsole, watchers, observe, loaded: loaded.promise };
}

/** Resolves when all requests have a response and the service is closed. */
async function stopServing(
  appState: AppState,
  { api, admin, front, isEmbedded }: {
    readonly api: ServingApi | null;
    readonly front: ApiFront | null;
    readonly admin: Awaited<ReturnType<typeof serveAdmin>>;
    readonly isEmbedded: boolean;
  },
): Promise<void> {
  appState.endStreams();
  await untilResponded(
    Promise.all([api?.shutdown().then(front?.stop), admin?.shutdown()]),
    () => hasWork(appState.database) || api?.isRunning === true,
  );
  // Only an embedded database is closed without a time limit, because it writes data to disk.
  await (isEmbedded ? appState.close() : closeInTime(appState));
}

/** The API, served by this thread or by workers. */
interface ServingApi extends Pick<Listening, "closeConnections" | "isOpen" | "shutdown"> {
  /** Returns whether other threads still run. Default: false. */
  readonly isRunning?: boolean;
}

/** Returns the workers of a process; null if a single thread serves. */
async function makeTeam(config: Config, observe: Log["observe"]): Promise<WorkerTeam | null> {
  const workers = countWorkers(config, observe);
  if (workers === 1) return null;
  const { WorkerTeam } = await import("./workers/worker_team.ts");
  return new WorkerTeam(workers);
}

/** Starts an embedded database. Rejects if `db-embedded-init` fails, or if the folder is in use. */
async function startEmbedded({ database, observe }: AppState, reader: ConfigReader): Promise<void> {
  if (await database.embedded?.start() !== "changed") return;
  const { dbUri, dbEmbeddedInit } = reader.config;
  observe({
    kind: "embedded-init-changed",
    path: shellWord(dbEmbeddedInit ?? ""),
    folder: shortPath(embeddedFolder({ dbUri }) ?? ""),
  });
}

/** Starts to observe the schema. Resolves after the first attempt to load it. */
function load(appState: AppState): Promise<void> {
  appState.listen();
  return appState.reloadSchema();
}

async function startAppState(
  { file, config, read }: ConfigReader,
  { observe, setSettings, onFatal, database, quick, team, isTimed }:
    & Pick<Log, "observe" | "setSettings">
    & Required<Pick<ServeDependencies, "database" | "quick">>
    & {
      readonly onFatal: () => void;
      readonly team: WorkerTeam | null;
      readonly isTimed: () => boolean;
    },
): Promise<AppState> {
  // With workers, the service has few connections, because it needs them for loads only.
  const databaseConfig = team === null ? config : { ...config, dbPool: 1, dbReplicaPool: 1 };
  const appState = await AppState.create({
    source: read,
    ...team?.serviceOptions,
    database: database ?? await openConfiguredDatabase(databaseConfig, file),
    now: Date.now,
    observe,
    onFatal,
    ...(await openTracing()),
    isCounted: adminListenAddress(config) !== null,
    isTimed,
    missingCacheDetail: "none",
    hidesExtensionFunctions: quick?.hidesExtensionFunctions ?? false,
  });
  setSettings(() => appState.snapshot.config);
  return appState;
}
