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
export function badHost(headers: HeadersInit): Response {
  return new Response("Bad Request", { status: 400, headers });
}
