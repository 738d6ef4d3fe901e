/**
 * The admin server: liveness, readiness, metrics, and a page that documents the API.
 *
 * @module
 */
import { accessRefusal, type Peer } from "./admin_access.ts";
import { apiPage } from "./api_page.ts";
import { redactedConfig } from "../config/print.ts";
import { badHostResponse, isHostHeader } from "../http/host.ts";
import { prometheusText } from "../observe/metrics.ts";
import type { ReadAsset } from "./page_assets.ts";
import { dumpSchemaCache } from "../schema_cache/dump.ts";
import type { Service } from "../service/service.ts";
import { version } from "../version.ts";

/** Dependencies of the admin server apart from the service. */
export interface AdminOptions {
  /** Whether the API server is listening. */
  readonly isLive: () => boolean;
  readonly readAsset: ReadAsset;
  /** Returns the metrics of the process. Default: none. */
  readonly processMetrics?: () => string;
}

/** Handles a request to the admin server. */
export type AdminHandler = (request: Request, peer: Peer) => Promise<Response>;

/**
 * Makes the admin server's handler. Any client may request probes and metrics. Only clients on this
 * machine may request inner paths, which show the configuration and the schema cache.
 */
export function adminHandler(
  service: AdminService,
  { isLive, readAsset, processMetrics = () => "" }: AdminOptions,
): AdminHandler {
  const headers = { "Server": `${service.dialect.productToken}/${version}` };
  const openRoutes = openRoutesOf(service, { isLive, processMetrics });
  const innerRoutes = innerRoutesOf(service, readAsset);
  const guard = (route: Route, request: Request, peer: Peer) => {
    const refusal = accessRefusal(request, peer, service.snapshot.config.adminAllowedHosts ?? []);
    return refusal === null ? route() : Promise.resolve(textResponse(refusal, { status: 403 }));
  };
  return async function handleAdmin(request, peer) {
    if (!isHostHeader(request.headers.get("host"))) return badHostResponse(headers);
    const { pathname } = new URL(request.url);
    const [open, inner] = [openRoutes.get(pathname), innerRoutes.get(pathname)];
    if (open === undefined && inner === undefined) {
      return new Response(null, { status: 404, headers });
    }
    const response = await (inner === undefined ? open!() : guard(inner, request, peer));
    for (const [name, value] of Object.entries(headers)) response.headers.set(name, value);
    return response;
  };
}

type AdminService = Pick<
  Service,
  "isReady" | "dialect" | "metricRegistry" | "metrics" | "requestMetrics" | "snapshot"
>;

type Route = () => Promise<Response>;

type Routes = ReadonlyMap<string, Route>;

/** Returns the routes of paths that any client may request: probes and metrics. */
function openRoutesOf(
  service: AdminService,
  { isLive, processMetrics }: Required<Pick<AdminOptions, "isLive" | "processMetrics">>,
): Routes {
  const { dialect } = service;
  const serving = () => isLive() ? 200 : dialect.notServingStatus;
  const empty = (status: number) => new Response(null, { status });
  return new Map([
    ["/live", () => Promise.resolve(empty(serving()))],
    ["/ready", async () => empty(await service.isReady() ? serving() : 503)],
    ["/metrics", () => Promise.resolve(textResponse(metricsText(service) + processMetrics()))],
    ...(dialect.schemaCachePage === "open" ? [schemaCacheRoute(service)] : []),
  ]);
}

function metricsText(service: AdminService): string {
  const { settingPrefix } = service.dialect;
  return prometheusText(service.metrics(), settingPrefix) +
    service.metricRegistry.text(settingPrefix) + (service.requestMetrics?.text() ?? "");
}

/** Returns the routes of inner paths. */
function innerRoutesOf(service: AdminService, readAsset: ReadAsset): Routes {
  const { dialect: { configPage, schemaCachePage } } = service;
  const config = () => service.snapshot.config;
  return new Map([
    ...apiPage({ config, readAsset }),
    ...(configPage === "shown"
      ? [["/config", () => Promise.resolve(textResponse(redactedConfig(config())))] as const]
      : []),
    ...(schemaCachePage === "guarded" ? [schemaCacheRoute(service)] : []),
  ]);
}

function schemaCacheRoute(service: AdminService): readonly [path: string, route: Route] {
  const respond = () => {
    const { cache } = service.snapshot;
    const text = cache === null ? "" : dumpSchemaCache(cache.data);
    return Promise.resolve(textResponse(text, { type: "application/json; charset=utf-8" }));
  };
  return ["/schema_cache", respond];
}

function textResponse(
  text: string,
  { type = "text/plain; charset=utf-8", status = 200 }: {
    readonly type?: string;
    readonly status?: number;
  } = {},
): Response {
  return new Response(text, { status, headers: { "Content-Type": type } });
}
