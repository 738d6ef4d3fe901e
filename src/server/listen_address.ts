/**
 * What the API and the admin server bind to, as the configuration says it.
 *
 * @module
 */
import type { Config } from "../config/options.ts";

/** A place to listen at. */
export type Binding =
  | {
    readonly kind: "tcp";
    /** A name, an address or one of the special values. */
    readonly host: string;
    /** 0 for any that is free. */
    readonly port: number;
    readonly reusePort: boolean;
  }
  | { readonly kind: "unix"; readonly path: string; readonly mode: number };

/** Where the API is served. */
export function apiBinding(
  config: Pick<
    Config,
    "serverHost" | "serverPort" | "serverReuseport" | "serverUnixSocket" | "serverUnixSocketMode"
  >,
): Binding {
  const { serverUnixSocket: path, serverUnixSocketMode: mode } = config;
  if (path !== null) return { kind: "unix", path, mode };
  const { serverHost: host, serverPort: port, serverReuseport: reusePort } = config;
  return { kind: "tcp", host, port, reusePort };
}

/** Where the admin server listens; null when there is to be none. */
export function adminBinding(
  config: Pick<
    Config,
    | "adminServerHost"
    | "adminServerPort"
    | "adminServerUnixSocket"
    | "adminServerUnixSocketMode"
  >,
): Binding | null {
  const { adminServerUnixSocket: path, adminServerUnixSocketMode: mode } = config;
  if (path !== null) return { kind: "unix", path, mode };
  const { adminServerHost: host, adminServerPort: port } = config;
  return port === null ? null : { kind: "tcp", host, port, reusePort: false };
}

const [anyIpv4, anyIpv6] = ["0.0.0.0", "::"];

/** The addresses of the special values, the preferred one first. */
const specialHosts: ReadonlyMap<string, readonly string[]> = new Map([
  ["*", [anyIpv4, anyIpv6]],
  ["*4", [anyIpv4, anyIpv6]],
  ["!4", [anyIpv4]],
  ["*6", [anyIpv6, anyIpv4]],
  ["!6", [anyIpv6]],
]);

/** The addresses that a host stands for; what is no special value is asked of `resolve`. */
export async function addressesOf(
  host: string,
  resolve: (name: string) => Promise<readonly string[]>,
): Promise<readonly string[]> {
  return specialHosts.get(host) ?? await resolve(host.replace(/^\[(.*)\]$/, "$1"));
}

/** `127.0.0.1:3000` or `[::1]:3000` */
export function addressText({ hostname, port }: {
  readonly hostname: string;
  readonly port: number;
}): string {
  return hostname.includes(":") ? `[${hostname}]:${port}` : `${hostname}:${port}`;
}
