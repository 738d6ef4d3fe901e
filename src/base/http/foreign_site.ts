/** Recognizes requests that a page of another site makes a browser send. @module */
import { hostName, isLoopbackHost } from "./host.ts";

export interface SiteRules {
  /** Allowed origins in addition to the request's `Host`. */
  readonly origins: readonly string[];
  /** Whether only a `Host` that names this machine is accepted, against DNS rebinding. */
  readonly checksHost: boolean;
}

export type ForeignHeader = "Host" | "Origin";

/** Returns the name of the header that shows another site as the source; null if the request is acceptable. */
export function foreignHeader(
  headers: { get(name: string): string | null },
  { origins, checksHost }: SiteRules,
): ForeignHeader | null {
  const host = headers.get("host");
  if (checksHost && host !== null && !isLoopbackHost(hostName(host) ?? "")) return "Host";
  const origin = headers.get("origin");
  if (origin !== null && origins.includes(origin)) return null;
  if (origin !== null && hostOf(origin) !== host?.toLowerCase()) return "Origin";
  const site = headers.get("sec-fetch-site");
  // `same-site` is foreign, too: it can be another port of this machine.
  return site === "cross-site" || site === "same-site" ? "Origin" : null;
}

/** Returns whether a request comes from another origin, by `Sec-Fetch-Site`, or else by comparing
 * `Origin` with the host. */
export function isCrossOrigin(headers: Readonly<Record<string, string>>): boolean {
  const { "sec-fetch-site": site, origin, host } = headers;
  if (site !== undefined) return site !== "same-origin" && site !== "none";
  return origin !== undefined && hostOf(origin) !== host?.toLowerCase();
}

const safeMethods: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS", "QUERY"]);

/** The parts of a write that show which origin has caused it. */
export interface WriteSource {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Host and port of the request, as the client wrote them. */
  readonly host: string;
}

/**
 * Returns whether a page of another origin may have made a browser send this write, with its
 * cookies for this origin. Programs other than browsers send neither `Sec-Fetch-Site` nor `Origin`.
 *
 * `origins` lists other origins that may write. `ownUrl` is the public URL of the API, whose scheme
 * the service cannot see; null if unknown.
 */
export function isForeignWrite(
  { method, headers, host }: WriteSource,
  { origins, ownUrl }: { readonly origins: readonly string[]; readonly ownUrl: string | null },
): boolean {
  if (safeMethods.has(method)) return false;
  const { "sec-fetch-site": site, origin } = headers;
  if (origin !== undefined && origins.includes(origin)) return false;
  if (site !== undefined) return site !== "same-origin" && site !== "none";
  return origin !== undefined && !isOwnOrigin(origin, host, ownUrl);
}

function isOwnOrigin(origin: string, host: string, ownUrl: string | null): boolean {
  if (!URL.canParse(origin)) return false;
  const serverUrl = ownUrl === null ? null : new URL(ownUrl);
  if (serverUrl?.origin === origin) return true;
  const { protocol, host: originHost } = new URL(origin);
  if (serverUrl !== null && serverUrl.protocol !== protocol) return false;
  const url = `${protocol}//${host}`;
  return URL.canParse(url) && new URL(url).host === originHost;
}

/** Returns host and port of an origin; null for `null` and other texts. */
function hostOf(origin: string): string | null {
  return URL.canParse(origin) ? new URL(origin).host : null;
}
