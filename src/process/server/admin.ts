/** The admin server: liveness, readiness, metrics, and the console. @module */
import { accessRefusal, TokenGuard } from "./admin_access.ts";
import type { Config } from "../../state/config/options.ts";
import { redactedConfig } from "../../state/config/print.ts";
import type { Dialect } from "../../base/dialect.ts";
import { badHostResponse, isHostHeader } from "../../base/http/host.ts";
import { dumpSchemaCache } from "../../state/schema_cache/dump.ts";
import {
  type AdminHandler,
  emptyResponse,
  type FindRoute,
  guarded,
  type GuardedRoute,
  open,
  type Peer,
  textResponse,
} from "../../base/http/admin_route.ts";
import type { HandlerState } from "../../state/app_state/handler_state.ts";
import type { AppState } from "../../state/app_state/app_state.ts";
import { version } from "../../base/version.ts";

/** Dependencies of the admin server other than the service. */
export interface AdminOptions {
  /** Whether the API server is listening. */
  readonly isLive: () => boolean;
  /** Finds the routes of the console. Default: no console. */
  readonly consoleRoute?: FindRoute | undefined;
  /** Returns the metrics of the service. Default: the metrics of this thread. */
  readonly serviceMetrics?: (() => Promise<string>) | undefined;
  /** Returns the metrics of the process. Default: none. */
  readonly processMetrics?: () => string;
}

/** Returns the handler of the admin server. Any client may request probes and metrics. Inner paths
 * have the configuration, the schema cache and the console; see {@linkcode accessRefusal}. */
export function adminHandler(
  appState: AdminState,
  { isLive, consoleRoute = () => null, processMetrics = () => "", serviceMetrics }: AdminOptions,
): AdminHandler {
  const metrics = async () =>
    await (serviceMetrics?.() ?? metricsText(appState)) + processMetrics();
  const routes = routesOf(appState, { isLive, metrics });
  return routedAdmin((path) => routes.get(path) ?? consoleRoute(path), {
    dialect: appState.dialect,
    now: appState.now,
    access: () => appState.snapshot.config,
  });
}

/** Returns a handler that finds routes by path. */
export function routedAdmin(
  routeOf: FindRoute,
  { dialect, now, access }: {
    readonly dialect: Dialect;
    readonly now: () => number;
    /** Returns the current options. */
    readonly access: () => Pick<Config, "adminAllowedHosts" | "adminToken">;
  },
): AdminHandler {
  const headers = { "Server": `${dialect.productToken}/${version}` };
  const guard = new TokenGuard(now);
  const respondGuarded = async (
    { protection, respond }: GuardedRoute,
    request: Request,
    peer: Peer,
  ) => {
    if (protection === "open") return respond(request, peer);
    const { adminAllowedHosts, adminToken: token } = access();
    const allowedHosts = adminAllowedHosts ?? [];
    const refusal = await accessRefusal(request, peer, { protection, allowedHosts, token, guard });
    if (refusal === null) return respond(request, peer);
    await request.body?.cancel();
    return textResponse(refusal.text, { status: refusal.status });
  };
  return async function handleAdmin(request, peer) {
    if (!isHostHeader(request.headers.get("host"))) return badHostResponse(headers);
    const route = routeOf(new URL(request.url).pathname);
    if (route === null) return new Response(null, { status: 404, headers });
    const response = await respondGuarded(route, request, peer);
    for (const [name, value] of Object.entries(headers)) response.headers.set(name, value);
    return response;
  };
}

export type MeasuredState = Pick<AppState, "dialect" | "metricRegistry" | "requestMetrics">;

type AdminState = HandlerState & MeasuredState;

/** Returns the routes of paths other than the console's. */
function routesOf(
  appState: AdminState,
  { isLive, metrics }: Pick<AdminOptions, "isLive"> & { readonly metrics: () => Promise<string> },
): ReadonlyMap<string, GuardedRoute> {
  const { dialect: { configPage, notServingStatus, schemaCachePage } } = appState;
  const serving = () => isLive() ? 200 : notServingStatus;
  const config = () => textResponse(redactedConfig(appState.snapshot.config));
  const schemaCache = () => {
    const { cache } = appState.snapshot;
    const text = cache === null ? "" : dumpSchemaCache(cache.data);
    return textResponse(text, { type: "application/json; charset=utf-8" });
  };
  return new Map([
    ["/live", open(() => emptyResponse(serving()))],
    ["/ready", open(async () => emptyResponse(await appState.isReady() ? serving() : 503))],
    ["/metrics", open(async () => textResponse(await metrics()))],
    ["/schema_cache", schemaCachePage === "open" ? open(schemaCache) : guarded(schemaCache)],
    ...(configPage === "shown" ? [["/config", guarded(config)] as const] : []),
  ]);
}

/** Returns the metrics of a service, without the metrics of the process. */
export function metricsText(appState: MeasuredState): string {
  const { settingPrefix } = appState.dialect;
  return appState.metricRegistry.text(settingPrefix) + (appState.requestMetrics?.text() ?? "");
}
