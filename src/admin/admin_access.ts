/**
 * Access to the admin server's inner paths: those that show the configuration, the schema cache or
 * the page about the API.
 *
 * @module
 */
import { hostName, isAddress } from "../http/host.ts";

/** The other end of a request's connection. */
export interface Peer {
  /** Its address without port; null when it came by a Unix socket. */
  readonly client: string | null;
}

/**
 * Returns why a request may not reach an inner path, in one line; null when it may.
 *
 * The `Host` header must be `localhost`, an address or an allowed name. A web page that binds its own
 * name to a loopback address (DNS rebinding) sends its name. The peer must be on this machine, and
 * the request must not have passed a proxy, which stands for peers elsewhere.
 */
export function refusalOf(
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

/** HTTP/2 has the host in the URL alone. */
function isAllowedHost(request: Request, allowedHosts: readonly string[]): boolean {
  const name = hostName(request.headers.get("host") ?? new URL(request.url).host);
  if (name === null) return false;
  return name === "localhost" || isAddress(name) ||
    allowedHosts.some((allowed) => hostName(allowed) === name);
}

/** Also as a socket for IPv6 shows an IPv4 address (RFC 4291, section 2.5.5.2). */
function isLoopback(address: string): boolean {
  return address === "::1" || /^(?:::ffff:)?127\.\d+\.\d+\.\d+$/i.test(address);
}

function isForwarded(headers: Headers): boolean {
  return Array.from(headers.keys()).some((name) =>
    /^(?:forwarded|x-forwarded-.*|x-real-ip|via)$/
      .test(name)
  );
}
