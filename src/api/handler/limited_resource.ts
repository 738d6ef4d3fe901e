/** The resource of a request, by which policies of `rate-limits` match it. @module */
import {
  decodedPath,
  isUnder,
  type LimitedResource,
  pathSegment,
} from "../../state/rate_limits/resource.ts";
import { type QueryRequestConfig, readQueryTarget } from "../request/query_request.ts";

export function limitedResource(
  request: { readonly method: string; readonly path: string },
  config: QueryRequestConfig & { readonly relationPrefix?: string | null },
): LimitedResource {
  const { method } = request;
  const path = decodedPath(request.path);
  const { relationPrefix: prefix = null } = config;
  const rootFunction = config.dbRootSpec?.name ?? null;
  return {
    method: isQuery(request, config) ? "QUERY" : method === "HEAD" ? "GET" : method,
    path: path === "/" && rootFunction !== null ? `/rpc/${pathSegment(rootFunction)}` : path,
    relationPath: prefix !== null && isUnder(path, prefix) ? path.slice(prefix.length) : null,
  };
}

/** Returns whether a request is a read with parameters in its body: QUERY, or POST to `$query`. */
function isQuery(
  request: { readonly method: string; readonly path: string },
  config: QueryRequestConfig,
): boolean {
  const target = readQueryTarget(request, config);
  return target?.form === "method" || (target?.form === "path" && request.method === "POST");
}
