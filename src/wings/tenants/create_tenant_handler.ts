/** A handler for many tenants in a program. It creates and closes the handlers of the tenants. @module */
import { svcDialect } from "../../base/dialect.ts";
import { tenantErrors } from "./tenant_errors.ts";
import { errorResponseTo, type RequestInfo } from "../../api/handler/handler.ts";
import type { Handler } from "../../api/lazy_handler.ts";
import { isTenantName } from "./find_tenant.ts";

/** The tenant of a request. `Options` is the type of its handler's options. */
export interface ResolvedTenant<Options> {
  /** Up to 63 lower-case letters, digits, `_` and `-`. */
  readonly name: string;
  /** Returns the options of the tenant's handler. Called if the tenant is not loaded. */
  readonly options: () => Options | Promise<Options>;
  /** Path within the tenant, if it is not the path of the URL. */
  readonly path?: string;
}

/** Handles requests of many tenants. */
export interface TenantHandler {
  /** Handles a request of the tenant that `resolve` returns. Responds with 404 and SVC316 if `resolve`
   * returns null, with 503 and SVC317 if the options are invalid. Rejects if `resolve` rejects. */
  (request: Request, info?: RequestInfo): Promise<Response>;
  /** Closes a tenant after its requests. The next request calls `options` again. */
  forget(name: string): Promise<void>;
  /** Closes all tenants. */
  close(): Promise<void>;
}

export interface TenantHandlerParts<Options> {
  readonly resolve: (
    request: Request,
  ) => ResolvedTenant<Options> | null | Promise<ResolvedTenant<Options> | null>;
  /** Maximum number of open tenants. */
  readonly max: number;
  readonly create: (options: Options, tenant: string) => Handler;
}

interface OpenHandler {
  readonly opening: Promise<Handler>;
  requests: number;
  /** Closes the handler after its last request; null while the tenant is open. */
  close: (() => void) | null;
}

/** Returns the handler. Throws an `Error` if `max` is not a whole number above 0. */
export function tenantHandler<Options>(
  { resolve, max, create }: TenantHandlerParts<Options>,
): TenantHandler {
  if (!Number.isSafeInteger(max) || max < 1) {
    throw new Error("max: expected a whole number above 0");
  }
  /** Open tenants, in order of last use. */
  const tenants = new Map<string, OpenHandler>();
  const forget = async (name: string) => {
    const tenant = tenants.get(name);
    if (tenant === undefined) return;
    tenants.delete(name);
    if (tenant.requests > 0) await new Promise<void>((ended) => tenant.close = ended);
    await tenant.opening.then((handler) => handler.close(), () => {});
  };
  const use = ({ name, options }: ResolvedTenant<Options>): OpenHandler => {
    const entry = tenants.get(name);
    tenants.delete(name);
    const opening = () => Promise.resolve().then(options).then((each) => create(each, name));
    const tenant = entry ?? { opening: opening(), requests: 0, close: null };
    tenants.set(name, tenant);
    const [oldest] = tenants.keys();
    if (tenants.size > max) void forget(oldest!);
    return tenant;
  };
  const handle = async (request: Request, info: RequestInfo = {}) => {
    const resolved = await resolve(request);
    if (resolved === null || !isTenantName(resolved.name)) {
      return errorResponseTo(request, tenantErrors.unknownTenant(), svcDialect);
    }
    const { name, path } = resolved;
    const tenant = use(resolved);
    const response = await respond(tenant, request, path === undefined ? info : { ...info, path });
    if (response !== null) return response;
    if (tenants.get(name) === tenant) tenants.delete(name);
    return errorResponseTo(request, tenantErrors.tenantUnavailable(1), svcDialect);
  };
  const close = async () => void (await Promise.all(Array.from(tenants.keys(), forget)));
  return Object.assign(handle, { forget, close });
}

/** Returns the response of a tenant; null if its handler cannot be created. */
async function respond(
  tenant: OpenHandler,
  request: Request,
  info: RequestInfo,
): Promise<Response | null> {
  tenant.requests++;
  try {
    const handler = await tenant.opening.catch(() => null);
    return handler && await handler(request, info);
  } finally {
    tenant.requests--;
    if (tenant.requests === 0) tenant.close?.();
  }
}
