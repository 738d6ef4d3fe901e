/** Handles the requests of a process with tenants: finds the tenant, and forwards the request to it. @module */
import type { Config } from "../../state/config/options.ts";
import type { Dialect } from "../../base/dialect.ts";
import { errorMembers } from "../../base/errors/error_response.ts";
import { tenantErrors } from "./tenant_errors.ts";
import { ServiceError } from "../../base/errors/service_error.ts";
import { errorResponseTo, type RequestInfo } from "../../api/handler/handler.ts";
import { healthCheck } from "../../api/handler/early_answers.ts";
import { RequestsInFlight } from "../../api/handler/in_flight.ts";
import { unknownRoute } from "../../api/handler/route_names.ts";
import { responseWith } from "../../api/handler/headers.ts";
import { actualHeaders } from "../../base/http/cors.ts";
import { badHostResponse, isHostHeader } from "../../base/http/host.ts";
import type { Observation } from "../../base/observe/observation.ts";
import { splitUrl } from "../../api/request/raw_request.ts";
import type { FindTenant } from "./find_tenant.ts";
import { isUnknownTenant, type TenantRegistry } from "./tenant_registry.ts";

export interface TenantsHandlerOptions {
  /** Configuration of the process. */
  readonly config: () => Config;
  readonly find: FindTenant;
  readonly registry: Pick<TenantRegistry, "handle">;
  readonly isReady: () => Promise<boolean>;
  /** Adds a response of a tenant to the metrics. */
  readonly count: (tenant: string, status: number, seconds: number) => void;
  readonly observe: (event: Observation) => void;
}

type Handle = (request: Request, info?: RequestInfo) => Promise<Response>;

/** Returns the handler. It rejects only for bugs. */
export function tenantsHandler(options: TenantsHandlerOptions): Handle {
  const { config, find, registry, isReady, count } = options;
  const { dialect } = config();
  const health = healthCheck(isReady, config().serverHealthPath, "shared");
  const inFlight = new RequestsInFlight();
  const handle: Handle = async (request, info = {}) => {
    const { headers, method, url } = request;
    const { path } = splitUrl(url);
    if (!isHostHeader(headers.get("host"))) return badHostResponse({});
    const reply = await health({ method, path });
    if (reply !== null) return responseWith(reply.headers, null, { status: reply.status });
    const { client = null } = info;
    const tenant = find({ url, headers, path, peer: client });
    if (tenant === null) throw tenantErrors.unknownTenant();
    const began = performance.now();
    const { name, prefix } = tenant;
    inFlight.enter(config().serverMaxRequests);
    const record = (status: number) => count(name, status, (performance.now() - began) / 1000);
    try {
      // `client` is passed separately: `info` reads it on first use, so that the spread does not copy it.
      const response = await registry.handle(name, request, { ...info, client, path: tenant.path });
      record(response.status);
      if (prefix !== "") addPrefix(response, prefix);
      return response;
    } catch (error) {
      if (!isUnknownTenant(error)) record(503);
      throw error;
    } finally {
      inFlight.leave();
    }
  };
  return async function handleTenants(request, info) {
    try {
      return await handle(request, info);
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      return refused(request, error, { options, dialect, client: info?.client ?? null });
    }
  };
}

const addressHeaders = ["Location", "Content-Location"] as const;

/** Adds a prefix to the paths in headers, so that they are correct for clients. Addresses of other
 * hosts are unchanged. */
function addPrefix({ headers }: Response, prefix: string): void {
  for (const name of addressHeaders) {
    const value = headers.get(name);
    if (value !== null && /^\/(?!\/)/.test(value)) headers.set(name, prefix + value);
  }
}

/** Returns and reports the response to a request without a tenant. */
function refused(
  request: Request,
  error: ServiceError,
  { options: { config, observe }, dialect, client }: {
    readonly options: TenantsHandlerOptions;
    readonly dialect: Dialect;
    readonly client: string | null;
  },
): Response {
  const { serverCorsAllowedOrigins, logQueryString } = config();
  const response = errorResponseTo(request, error, dialect);
  const has = (name: string) => response.headers.has(name);
  const cors = actualHeaders(request, serverCorsAllowedOrigins, { has, bookmark: null });
  for (const [name, value] of cors) response.headers.set(name, value);
  const { path, query } = splitUrl(request.url);
  const reason = error.fields.shedReason;
  if (reason !== undefined) observe({ kind: "request-shed", reason });
  observe({
    kind: "request-finished",
    method: request.method,
    target: logQueryString && query !== "" ? `${path}?${query}` : path,
    status: response.status,
    length: Number(response.headers.get("Content-Length")),
    role: null,
    client,
    referer: request.headers.get("referer"),
    userAgent: request.headers.get("user-agent"),
    time: Date.now(),
    durationMs: 0,
    route: unknownRoute,
    protocol: request.headers.has("host") ? "HTTP/1.1" : null,
    queueMs: null,
    databaseMs: null,
    requestId: null,
    traceId: null,
    spanId: null,
    code: errorMembers(error, dialect).code,
  });
  return response;
}
