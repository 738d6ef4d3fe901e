/**
 * Controls access to the admin server's inner paths: the configuration, the schema cache and the page
 * that documents the API.
 *
 * @module
 */
import { hostName, isAddress } from "../http/host.ts";

/** The client side of a connection. */
export interface Peer {
  /** Address without port; null for a Unix socket. */
  readonly client: string | null;
}

/**
 * Returns the reason in one line why a request may not access an inner path; null if it may.
 *
 * The `Host` header must be `localhost`, an address or an allowed name. A web page that binds its own
 * name to a loopback address (DNS rebinding) sends its name. The peer must be on this machine, and
 * the request must not have passed a proxy, which stands for peers elsewhere.
 */
export function accessRefusal(
  request: Request,
  { client }: Peer,
  allowedHosts: readonly string[],
): string | null {
  if (client !== null && !isAllowedHost(request, allowedHosts)) return wrongHost;
  const isLocal = client === null || isLoopback(client);
  return isLocal && !isForwarded(request.headers) ? null : wrongPeer;
}

const wrongHost = "Open this page by localhost or by an address, or name its host in " +
  "admin-allowed-hosts\n";

const wrongPeer = "Open this page on the machine itself\n";

/** Returns whether the host is allowed. HTTP/2 requests have the host only in the URL. */
function isAllowedHost(request: Request, allowedHosts: readonly string[]): boolean {
  const name = hostName(request.headers.get("host") ?? new URL(request.url).host);
  if (name === null) return false;
  return name === "localhost" || isAddress(name) ||
    allowedHosts.some((allowed) => hostName(allowed) === name);
}

/** Recognizes IPv4 addresses also in the form of an IPv6 socket (RFC 4291, section 2.5.5.2). */
function isLoopback(address: string): boolean {
  return address === "::1" || /^(?:::ffff:)?127\.\d+\.\d+\.\d+$/i.test(address);
}

function isForwarded(headers: Headers): boolean {
  return Array.from(headers.keys()).some((name) =>
    /^(?:forwarded|x-forwarded-.*|x-real-ip|via)$/
      .test(name)
  );
}
