/** The addresses of the API and the admin server, from the configuration. @module */
import type { Config } from "../state/config/options.ts";

export type ListenAddress =
  | {
    readonly kind: "tcp";
    /** A name, an address, or a special value such as `*4`. */
    readonly host: string;
    /** 0 selects a free port. */
    readonly port: number;
    readonly reusePort: boolean;
  }
  | { readonly kind: "unix"; readonly path: string; readonly mode: number };

export function apiListenAddress(
  config: Pick<
    Config,
    "serverHost" | "serverPort" | "serverReuseport" | "serverUnixSocket" | "serverUnixSocketMode"
  >,
): ListenAddress {
  const { serverUnixSocket: path, serverUnixSocketMode: mode } = config;
  if (path !== null) return { kind: "unix", path, mode };
  const { serverHost: host, serverPort: port, serverReuseport: reusePort } = config;
  return { kind: "tcp", host, port, reusePort };
}

/** Returns the address of the admin server; null if it is not configured. */
export function adminListenAddress(
  config: Pick<
    Config,
    | "adminServerHost"
    | "adminServerPort"
    | "adminServerUnixSocket"
    | "adminServerUnixSocketMode"
  >,
): ListenAddress | null {
  const { adminServerUnixSocket: path, adminServerUnixSocketMode: mode } = config;
  if (path !== null) return { kind: "unix", path, mode };
  const { adminServerHost: host, adminServerPort: port } = config;
  return port === null ? null : { kind: "tcp", host, port, reusePort: false };
}

const [anyIpv4, anyIpv6] = ["0.0.0.0", "::"];

/** The addresses of special values such as `*4`, in order of preference. */
const specialHosts: ReadonlyMap<string, readonly string[]> = new Map([
  ["*", [anyIpv4, anyIpv6]],
  ["*4", [anyIpv4, anyIpv6]],
  ["!4", [anyIpv4]],
  ["*6", [anyIpv6, anyIpv4]],
  ["!6", [anyIpv6]],
]);

/** Returns the addresses of a host. `resolve` looks up names other than the special values. */
export async function addressesOf(
  host: string,
  resolve: (name: string) => Promise<readonly string[]>,
): Promise<readonly string[]> {
  return specialHosts.get(host) ?? await resolve(host.replace(/^\[(.*)\]$/, "$1"));
}

/** Formats an address with its port: `127.0.0.1:3000` or `[::1]:3000`. */
export function addressText({ hostname, port }: {
  readonly hostname: string;
  readonly port: number;
}): string {
  return hostname.includes(":") ? `[${hostname}]:${port}` : `${hostname}:${port}`;
}
