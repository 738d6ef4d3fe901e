/** A handler that starts its service at the first request. @module */
import { limitKeys } from "../state/config/connection_limits.ts";
import { noValues } from "../state/config/load.ts";
import type { ConfigSource } from "../state/config/source.ts";
import { openDatabase } from "../database/open.ts";
import type { Connections } from "../database/database.ts";
import { type Dialect, svcDialect } from "../base/dialect.ts";
import { errors } from "../base/errors/catalogue.ts";
import { adminExtension, type HandlerWatcher } from "./handler/admin_port.ts";
import type { Wing } from "./wing.ts";
import { errorResponseTo, type RequestInfo, serviceHandler } from "./handler/handler.ts";
import { AppState } from "../state/app_state/app_state.ts";
import type { AppStateOptions } from "../state/app_state/app_state_options.ts";

/** Handles requests. Failures of requests and of the database are responses, not rejections. */
export interface Handler {
  /**
   * Handles a request. While the database is unreachable, the response is 503 with SVC000. After
   * `close()`, it is also 503 with SVC000, and its details report that the handler was closed.
   *
   * Rejects with an `Error` if an option that is checked late is invalid: a JSON Web Key that cannot
   * be imported, or an invalid role path.
   */
  (request: Request, info?: RequestInfo): Promise<Response>;
  /**
   * Resolves when a schema cache is available, from the options or by a load. Rejects with an
   * `Error` if the first load fails, although the handler retries the load, and after `close()`.
   */
  ready(): Promise<void>;
  /**
   * Reloads the schema cache. Resolves when the attempt has succeeded or failed. Rejects after
   * `close()`.
   */
  reloadSchema(): Promise<void>;
  /**
   * Reads the configuration in the database again, and the environment of `handler`. Resolves when
   * the configuration is applied. Reports an invalid configuration and keeps the old one. Rejects
   * after `close()`.
   */
  reloadConfig(): Promise<void>;
  /** Closes the handler. Connections to the database end after their running transactions. */
  close(): Promise<void>;
}

type PassedOptions = Pick<
  AppStateOptions,
  "fetch" | "now" | "observe" | "schemaCache" | "schemaCacheMaxAge" | "tenant"
>;

/** Dependencies of a handler other than its configuration. Default of optional dependencies: absent. */
export interface HandlerDependencies extends Partial<PassedOptions> {
  readonly embeddedInit?: string;
  /** Extensions of the embedded database. */
  readonly embeddedExtensions?: Readonly<Record<string, object>>;
  readonly connections: Connections;
  readonly wings: readonly Wing[];
}

interface StartedAppState {
  readonly appState: AppState;
  readonly handle: ReturnType<typeof serviceHandler>;
}

/** Returns a handler. It reads no source and opens no connection before the first request. */
export function lazyHandler(
  source: () => ConfigSource,
  dependencies: HandlerDependencies,
): Handler {
  let watcher: HandlerWatcher | null = null;
  let isStarting = false;
  const create = () => createAppState(source, watched(dependencies, watcher));
  const start = makeStart(create, dependencies.connections);
  let state: StartedAppState | null = null;
  let closed = false;
  const started = async () => {
    if (closed) throw new Error(closedMessage);
    isStarting = true;
    const ready = await start();
    watcher?.start(ready.appState);
    if (closed) await ready.appState.close();
    return state = ready;
  };
  return Object.assign(
    async (request: Request, info?: RequestInfo) => {
      if (closed) return closedResponse(request, state?.appState.dialect);
      return await (state?.appState.snapshot.cache ? state : await started()).handle(request, info);
    },
    {
      ready: async () => await becomeReady((await started()).appState),
      reloadSchema: async () => await (await started()).appState.reloadSchema(),
      reloadConfig: async () => await (await started()).appState.reloadConfig(),
      close: async () => {
        closed = true;
        watcher?.close();
        if (state !== null) await state.appState.close();
      },
      [adminExtension]: (added: HandlerWatcher) => {
        checkUnwatched(closed, { isStarting, watcher });
        watcher = added;
        return async () => closed ? null : (await started()).appState;
      },
    },
  );
}

const closedMessage = "the handler was closed";

function checkUnwatched(
  closed: boolean,
  { isStarting, watcher }: { readonly isStarting: boolean; readonly watcher: object | null },
): void {
  if (closed) throw new Error(`createAdmin: ${closedMessage}`);
  if (isStarting) throw new Error("createAdmin: the handler has started");
  if (watcher !== null) throw new Error("createAdmin: the handler has an admin server");
}

function closedResponse(request: Request, dialect: Dialect = svcDialect): Response {
  return errorResponseTo(request, errors.cannotConnect(closedMessage), dialect);
}

/** Loads the schema of an embedded database, whose start may exceed the time limit of a
 * transaction. Throws an `Error` if no schema cache is available. */
async function becomeReady(appState: AppState): Promise<void> {
  const { snapshot: { cache }, database: { embedded } } = appState;
  if (cache === null && embedded !== undefined) {
    await embedded.start();
    await appState.reloadSchema();
  }
  const { snapshot } = appState;
  if (snapshot.cache !== null) return;
  const { fields } = snapshot.cacheError ?? errors.noSchemaCache();
  const details = typeof fields.details === "string" ? ` (${fields.details.trim()})` : "";
  throw new Error(fields.message + details);
}

/** Dependencies of a handler, and measurements of its service for an admin server. */
type WatchedDependencies =
  & HandlerDependencies
  & Pick<AppStateOptions, "isCounted" | "isTimed" | "now" | "observe">;

/** Returns dependencies that also send events to a watcher, if there is one. */
function watched(
  dependencies: HandlerDependencies,
  watcher: HandlerWatcher | null,
): WatchedDependencies {
  const { now = Date.now, observe = () => {} } = dependencies;
  const own = { ...dependencies, now, observe };
  if (watcher === null) return own;
  return {
    ...own,
    observe: (event) => {
      watcher.observe(event);
      observe(event);
    },
    isCounted: true,
    isTimed: () => watcher.isTimed(),
  };
}

/** Returns the function that starts the service. With a pool, all requests share one start. Without
 * a pool, I/O ends with its request, so each request loads the schema cache until there is one. */
function makeStart(
  create: () => Promise<StartedAppState>,
  connections: Connections,
): () => Promise<StartedAppState> {
  if (connections === "pooled") {
    let starting: Promise<StartedAppState> | null = null;
    return () => starting ??= create().then(withSchema);
  }
  let made: StartedAppState | null = null;
  return async () => await withSchema(made ??= await create());
}

async function withSchema(started: StartedAppState): Promise<StartedAppState> {
  if (started.appState.snapshot.cache === null) await started.appState.reloadSchema();
  return started;
}

async function createAppState(
  source: () => ConfigSource,
  dependencies: WatchedDependencies,
): Promise<StartedAppState> {
  const { embeddedInit, embeddedExtensions = {}, connections, wings, observe } = dependencies;
  const config = source().configure(noValues);
  const withoutEffect = limitKeys(config);
  if (withoutEffect.length > 0) observe({ kind: "limits-unavailable", keys: withoutEffect });
  const database = await openDatabase(config, {
    embeddedInit: embeddedInit === undefined ? null : { text: embeddedInit, name: "embeddedInit" },
    embeddedExtensions,
    applicationName: config.dialect.displayName,
    connections,
  });
  const loading = connections === "pooled" ? "shared" : "unshared";
  const appState = await AppState.create({ ...dependencies, source, database, loading });
  if (connections === "pooled") appState.listen();
  return { appState, handle: serviceHandler(appState, loading, wings) };
}
