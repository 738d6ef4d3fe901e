/** The `Host` request header. @module */

const characters = /^[A-Za-z0-9._~%:\[\]-]*$/;

/** Returns whether a text is a valid `Host`. A slash or question mark would begin the path or query. */
export function isHostHeader(value: string | null): boolean {
  return value === null || characters.test(value);
}

export function badHostResponse(headers: HeadersInit): Response {
  return new Response("Bad Request", { status: 400, headers });
}

/** Returns the host without its port, in lower case: `[::1]`, `db.example`, or null. */
export function hostName(value: string): string | null {
  const url = `http://${value}`;
  return value !== "" && isHostHeader(value) && URL.canParse(url) ? new URL(url).hostname : null;
}

/** Returns whether a host, of {@linkcode hostName} or of `server-host`, is this machine alone. */
export function isLoopbackHost(host: string): boolean {
  return host === "localhost" || host === "::1" || host === "[::1]" ||
    /^127(?:\.\d+){3}$/.test(host);
}

/** Recognizes loopback addresses, IPv4 also in the form of an IPv6 socket (RFC 4291, section 2.5.5.2). */
export function isLoopbackAddress(address: string): boolean {
  return address === "::1" || /^(?:::ffff:)?127\.\d+\.\d+\.\d+$/i.test(address);
}

/** Returns whether a host of {@linkcode hostName} is an IPv4 or IPv6 address. */
export function isAddress(host: string): boolean {
  return host.startsWith("[") || /^\d+\.\d+\.\d+\.\d+$/.test(host);
}
