/** Serves the API. @module */
import type { Config } from "../../state/config/options.ts";
import { untilIdle, withTimeout } from "../../base/lib/time_limits.ts";
import type { HandlerState } from "../../state/app_state/handler_state.ts";
import { version } from "../../base/version.ts";
import { listen, type Listening, type ListenOptions } from "./listen.ts";
import { apiListenAddress } from "../listen_address.ts";
import { isLoopbackHost } from "../../base/http/host.ts";
import type { Dialect } from "../../base/dialect.ts";
import { errors } from "../../base/errors/catalogue.ts";
import { errorResponseTo } from "../../api/handler/handler.ts";
import { foreignHeader } from "../../base/http/foreign_site.ts";
import { limitKeys } from "../../state/config/connection_limits.ts";
import type { ConnectionLimits } from "./connection_table.ts";
import type { Schedule } from "../../base/lib/timers.ts";
import type { Observation } from "../../base/observe/observation.ts";
import type { AppState } from "../../state/app_state/app_state.ts";
import type { HandleApi } from "../../api/handler/handler.ts";

export interface ApiServerOptions {
  /** The startup configuration, with the address and the limits of connections. */
  readonly config: Config;
  /** Whether requests from pages of other sites are refused. */
  readonly isQuick: boolean;
  /** Whether `/` redirects browsers to the console. Default: false. */
  readonly opensConsole?: boolean;
  readonly handleApi: HandleApi;
  /** Receives the events of the server. Default: `observe` of the service. */
  readonly observe?: ListenOptions["observe"];
}

/** Listens on the address of the API. Rejects with an `Error` that names the address if it cannot be bound. */
export function serveApi(
  appState: Pick<HandlerState, "dialect" | "observe" | "snapshot">,
  { config, isQuick, opensConsole = false, handleApi, observe = appState.observe }:
    ApiServerOptions,
): Promise<Listening> {
  const { dialect } = appState;
  const current = () => appState.snapshot.config;
  const handle = opensConsole ? withConsole(handleApi, current) : handleApi;
  return listen(apiListenAddress(config), {
    what: "api",
    server: `${dialect.productToken}/${version}`,
    observe,
    limits: connectionLimits(config),
    serve: isQuick ? guardSite(handle, { config: current, dialect }) : handle,
  });
}

type ConsoleTarget = Pick<
  Config,
  "adminConsoleEnabled" | "adminServerPort" | "adminServerUnixSocket" | "serverPathPrefix"
>;

/** Redirects a browser's `GET /` to the console. The browser would save the API description as a file. */
export function withConsole(
  serve: ListenOptions["serve"],
  config: () => ConsoleTarget,
): ListenOptions["serve"] {
  return function redirect(request, info) {
    const { adminConsoleEnabled, adminServerPort: port, adminServerUnixSocket, ...others } =
      config();
    const target = new URL(request.url);
    const base = others.serverPathPrefix ?? "";
    const isRoot = ["/", base, `${base}/`].includes(target.pathname + target.search);
    const isBrowser = request.headers.get("Accept")?.startsWith("text/html");
    const hasConsole = adminConsoleEnabled && adminServerUnixSocket === null && port;
    if (!hasConsole || !isBrowser || !isRoot || request.method !== "GET") {
      return serve(request, info);
    }
    target.port = String(port);
    target.pathname = "/";
    const headers = { Location: target.href, Vary: "Accept" };
    return Promise.resolve(new Response(null, { status: 303, headers }));
  };
}

/** Seconds without database work after which shutdown ignores open requests, which may never be complete. */
const drainIdleSeconds = 20;

/** Maximum milliseconds to close connections to PostgreSQL, because a server may not respond. */
const closeTimeoutMs = 500;

/** Resolves when all requests have a response, or when open requests have caused no work for 20 s. */
export async function untilResponded(
  servers: Promise<unknown>,
  isBusy: () => boolean,
): Promise<void> {
  await untilIdle(servers, { isBusy, periodMs: 1000, maxIdleChecks: drainIdleSeconds });
}

/** Returns whether a database executes transactions, or transactions wait. */
export function hasWork(database: Pick<HandlerState["database"], "counts">): boolean {
  const { inUse, waiting } = database.counts();
  return inUse > 0 || waiting > 0;
}

/** Closes a service within a time limit, because its database may not respond. */
export async function closeInTime(appState: { close(): Promise<void> }): Promise<void> {
  await withTimeout(closeTimeoutMs, appState.close());
}

/** Refuses requests from pages of other sites. */
export function guardSite(
  serve: ListenOptions["serve"],
  { config, dialect }: { readonly config: () => Config; readonly dialect: Dialect },
): ListenOptions["serve"] {
  return function guarded(request, info) {
    const { serverHost, serverCorsAllowedOrigins } = config();
    const header = foreignHeader(request.headers, {
      origins: serverCorsAllowedOrigins ?? [],
      checksHost: isLoopbackHost(serverHost),
    });
    if (header === null) return serve(request, info);
    return Promise.resolve(errorResponseTo(request, errors.foreignSite(header), dialect));
  };
}

type ServedConfig = Pick<
  Config,
  "serverBodyTimeout" | "serverHeaderTimeout" | "serverIdleTimeout" | "serverMaxConnections"
>;

/** Returns the limits of connections to the API; null if no limit is set. */
export function connectionLimits(config: ServedConfig): ConnectionLimits | null {
  const keys = limitKeys(config);
  // For the timeout of bodies, the server must be able to close a single connection.
  if (keys.length === 0 && config.serverBodyTimeout === 0) return null;
  return {
    keys,
    headerTimeoutMs: config.serverHeaderTimeout * 1000,
    idleTimeoutMs: config.serverIdleTimeout * 1000,
    maxConnections: config.serverMaxConnections,
  };
}

export interface ShutdownWait {
  /** Seconds to serve; 0 for no limit. */
  readonly period: number;
  readonly appState: Pick<AppState, "announceShutdown">;
  readonly api: Pick<Listening, "closeConnections">;
  /** Ends the wait early. */
  readonly cut: Promise<void>;
  readonly observe: (event: Observation) => void;
  /** Default: the runtime's timers. */
  readonly schedule?: Schedule;
}

/** Resolves when the period is over, or when `cut` resolves. In the second half of the period, each
 * response closes its connection, so that clients without a balancer connect to another server. */
export async function waitBeforeShutdown(
  { period, appState, api, cut, observe, schedule }: ShutdownWait,
): Promise<void> {
  if (period === 0) return;
  appState.announceShutdown();
  observe({ kind: "shutdown-waiting", seconds: period });
  let isCut = false;
  const ended = cut.then(() => void (isCut = true));
  await withTimeout(period * 500, ended, schedule);
  if (isCut) return;
  api.closeConnections();
  await withTimeout(period * 500, ended, schedule);
}
