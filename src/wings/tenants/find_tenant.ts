/** Finds the tenant of a request. @module */
import type { TenantConfig } from "./tenant_options.ts";
import {
  isTrustedPeer,
  readTrustedProxies,
  type TrustedProxies,
} from "../../base/http/client_address.ts";

export interface NamedTenant {
  readonly name: string;
  /** Path within the tenant. */
  readonly path: string;
  /** Text before the paths of the tenant: `/acme`, or empty. */
  readonly prefix: string;
}

/** The parts of a request that can name a tenant. */
export interface TenantRequest {
  readonly url: string;
  readonly headers: Headers;
  /** Raw path of the URL. */
  readonly path: string;
  /** Address of the peer; null for Unix sockets. */
  readonly peer: string | null;
}

/** Returns the tenant that a request names, which may not exist; null if no tenant is named. */
export type FindTenant = (request: TenantRequest) => NamedTenant | null;

type FindConfig =
  & Pick<
    TenantConfig,
    "serverTrustedProxies" | "tenantBy" | "tenantHostPattern"
  >
  & { readonly mcpPath: string | null };

const namePattern = /^[a-z0-9][a-z0-9_-]{0,62}$/;

/** Returns whether a text is a valid name, which is safe in paths, in hosts and in labels of metrics. */
export function isTenantName(text: string): boolean {
  return namePattern.test(text);
}

export function tenantFinder(config: FindConfig): FindTenant {
  return config.tenantBy === "path"
    ? byPath(config.mcpPath)
    : byHost(config.tenantHostPattern ?? "{tenant}", proxiesOf(config));
}

function proxiesOf({ serverTrustedProxies }: FindConfig): TrustedProxies | null {
  return serverTrustedProxies === null ? null : readTrustedProxies(serverTrustedProxies);
}

/** Matches a host name with an optional final dot and an optional port. Several hosts in one header
 * do not match. */
const hostHeader = /^([a-z0-9._-]+?)\.?(?::[0-9]{1,5})?$/;

function byHost(pattern: string, proxies: TrustedProxies | null): FindTenant {
  const [before = "", after = ""] = pattern.split("{tenant}");
  return (request) => {
    const host = hostOf(request, proxies);
    const isMatch = host.startsWith(before) && host.endsWith(after) &&
      host.length > before.length + after.length;
    const name = host.slice(before.length, host.length - after.length);
    return isMatch && isTenantName(name) ? { name, path: request.path, prefix: "" } : null;
  };
}

/**
 * Returns the host name of a request; an empty text if the name is unknown. `X-Forwarded-Host` of a
 * trusted proxy comes first, then a URL in the request line (RFC 9112, section 3.2.2). In HTTP/2,
 * only the URL has the name. If URL and `Host` differ, a proxy may have used the other one, so svc
 * uses neither.
 */
function hostOf({ url, headers, peer }: TenantRequest, proxies: TrustedProxies | null): string {
  const forwarded = headers.get("x-forwarded-host");
  if (forwarded !== null && proxies !== null && isTrustedPeer(peer, proxies)) {
    return hostName(forwarded);
  }
  const ofUrl = hostName(/^[a-z]+:\/\/([^/?#]*)/i.exec(url)?.[1] ?? "");
  const header = headers.get("host");
  return header === null || hostName(header) === ofUrl ? ofUrl : "";
}

function hostName(text: string): string {
  return hostHeader.exec(text.toLowerCase())?.[1] ?? "";
}

/** Start of the path at which clients of the endpoint for agents look for issuers (RFC 9728, section 3.1). */
const metadataPrefix = "/.well-known/oauth-protected-resource";

/** Finds the tenant by the path. In paths of the endpoint for agents, the tenant comes last: `/mcp/acme`. */
function byPath(mcpPath: string | null): FindTenant {
  const heads = mcpPath === null ? [] : [mcpPath, metadataPrefix + mcpPath];
  return ({ path }) => {
    const head = heads.find((each) => path.startsWith(`${each}/`)) ?? "";
    const start = head.length + 1;
    const slash = path.indexOf("/", start);
    const end = slash === -1 ? path.length : slash;
    const name = path.slice(start, end);
    if (!isTenantName(name)) return null;
    const rest = head + path.slice(end);
    return { name, path: rest === "" ? "/" : rest, prefix: head === "" ? `/${name}` : "" };
  };
}
