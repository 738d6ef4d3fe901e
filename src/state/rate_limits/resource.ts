/** The resource that a request addresses, as policies match it: other spellings of a path are the
 * same resource. @module */
import { percentDecode } from "../../base/http/percent.ts";
import { type QueryRequestConfig, readQueryTarget } from "../../api/request/query_request.ts";

/** A request's method and decoded path. */
export interface LimitedResource {
  /** HEAD is GET, which does the same work. POST to `/<relation>/$query` is QUERY. */
  readonly method: string;
  /** Decoded segments behind slashes. A slash in a segment is `%2F`. */
  readonly path: string;
  /** Path of the relation of a live query; null for other requests. */
  readonly livePath: string | null;
}

export function limitedResource(
  request: { readonly method: string; readonly path: string },
  config: QueryRequestConfig & { readonly livePath?: string | null },
): LimitedResource {
  const { method } = request;
  const path = decodedPath(request.path);
  const { livePath: prefix = null } = config;
  const rootFunction = config.dbRootSpec?.name ?? null;
  return {
    method: isQuery(request, config) ? "QUERY" : method === "HEAD" ? "GET" : method,
    path: path === "/" && rootFunction !== null ? `/rpc/${segment(rootFunction)}` : path,
    livePath: prefix !== null && isUnder(path, prefix) ? path.slice(prefix.length) : null,
  };
}

/** Whether a request reads with parameters in its body, as QUERY does and POST to `$query`. */
function isQuery(
  request: { readonly method: string; readonly path: string },
  config: QueryRequestConfig,
): boolean {
  const target = readQueryTarget(request, config);
  return target?.form === "method" || (target?.form === "path" && request.method === "POST");
}

/** Returns whether a policy of a method counts requests with another one. QUERY is a way to GET. */
export function countsMethod(ofPolicy: string, method: string): boolean {
  return ofPolicy === method || (ofPolicy === "GET" && method === "QUERY");
}

/** Decodes a path, segment by segment. */
export function decodedPath(path: string): string {
  if (!path.includes("%")) return path;
  return path.split("/").map((raw) => segment(percentDecode(raw, "replace"))).join("/");
}

function segment(name: string): string {
  return name.replaceAll("/", "%2F");
}

/** Returns whether a path is `prefix`, or continues it with further segments. */
export function isUnder(path: string, prefix: string): boolean {
  return path.startsWith(prefix) &&
    (path.length === prefix.length || path.charAt(prefix.length) === "/");
}
