/**
 * The `Host` request header.
 *
 * @module
 */

const characters = /^[A-Za-z0-9._~%:\[\]-]*$/;

/**
 * Whether a `Host` header holds a host and a port and nothing else. A server that builds a request's
 * URL of it would take what follows a slash or a question mark for the path.
 */
export function isHostHeader(value: string | null): boolean {
  return value === null || characters.test(value);
}

/** The answer to a request with another one. */
export function badHostResponse(headers: HeadersInit): Response {
  return new Response("Bad Request", { status: 400, headers });
}

/**
 * Returns the host of a `Host` header without its port, in lower case, as the URL standard writes it:
 * `[::1]`, `127.0.0.1`, `db.example`. Null when the header has no host.
 */
export function hostName(value: string): string | null {
  const url = `http://${value}`;
  return value !== "" && isHostHeader(value) && URL.canParse(url) ? new URL(url).hostname : null;
}

/** Returns whether a host of {@linkcode hostName} is an IPv4 or IPv6 address. */
export function isAddress(host: string): boolean {
  return host.startsWith("[") || /^\d+\.\d+\.\d+\.\d+$/.test(host);
}
