/**
 * Recognizes requests that a page of another site makes a browser send to a server of this machine.
 *
 * @module
 */
import { hostName, isLoopbackHost } from "./host.ts";

/** Which requests are accepted. */
export interface SiteRules {
  /** Origins besides that of the request's own `Host`. */
  readonly origins: readonly string[];
  /** Accepts only a `Host` that names this machine, against DNS rebinding. */
  readonly checksHost: boolean;
}

/** The header that shows another site. */
export type ForeignHeader = "Host" | "Origin";

/**
 * Returns the header that shows another site, or null for a request to accept. Requests of other
 * programs than browsers have no `Origin`.
 */
export function foreignHeader(
  headers: { get(name: string): string | null },
  { origins, checksHost }: SiteRules,
): ForeignHeader | null {
  const host = headers.get("host");
  if (checksHost && host !== null && !isLoopbackHost(hostName(host) ?? "")) return "Host";
  const origin = headers.get("origin");
  if (origin !== null && origins.includes(origin)) return null;
  if (origin !== null && hostOf(origin) !== host?.toLowerCase()) return "Origin";
  return headers.get("sec-fetch-site") === "cross-site" ? "Origin" : null;
}

/**
 * Returns whether a browser may send the request for a page of another origin: the `Sec-Fetch-Site` header
 * says so, or, without it, the `Origin` header differs from the request's host.
 */
export function isCrossOrigin(headers: Readonly<Record<string, string>>): boolean {
  const { "sec-fetch-site": site, origin, host } = headers;
  if (site !== undefined) return site !== "same-origin" && site !== "none";
  return origin !== undefined && hostOf(origin) !== host?.toLowerCase();
}

/** Returns host and port of an origin; null for `null` and other texts. */
function hostOf(origin: string): string | null {
  return URL.canParse(origin) ? new URL(origin).host : null;
}
