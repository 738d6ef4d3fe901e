/** `--ready`: the request that it sends to the admin server, and the verdict on the response.
 * @module */
import type { Config } from "../config/options.ts";

/** The request that `--ready` sends, or the reason why it sends none. */
export type ReadyCheck =
  /** URLs to try in this order until one responds; at least one. */
  | { readonly kind: "urls"; readonly urls: readonly string[] }
  | { readonly kind: "problem"; readonly message: string };

/** Loopback addresses of the special hosts, in the server's order of preference. */
const loopbackAddresses: ReadonlyMap<string, readonly string[]> = new Map([
  ["*", ["127.0.0.1", "::1"]],
  ["*4", ["127.0.0.1", "::1"]],
  ["!4", ["127.0.0.1"]],
  ["*6", ["::1", "127.0.0.1"]],
  ["!6", ["::1"]],
]);

/** Returns the request of `--ready`. */
export function readyCheck(
  { adminServerHost: host, adminServerPort: port, dialect }: Pick<
    Config,
    "adminServerHost" | "adminServerPort" | "dialect"
  >,
): ReadyCheck {
  if (port === null) {
    return problem("Admin server is not running. Please check admin-server-port config.");
  }
  const loopback = loopbackAddresses.get(host);
  if (loopback !== undefined && dialect.readyOnWildcard === "error") {
    return problem(
      `The \`--ready\` flag cannot be used when server-host is configured as "${host}". ` +
        'Please update your server-host config to "localhost".',
    );
  }
  const urls = (loopback ?? [host]).map((address) =>
    `http://${address.includes(":") ? `[${address}]` : address}:${port}/ready`
  );
  const invalid = urls.find((url) => !URL.canParse(url));
  return invalid === undefined ? { kind: "urls", urls } : problem(`invalid url - ${invalid}`);
}

function problem(message: string): ReadyCheck {
  return { kind: "problem", message: `ERROR: ${message}` };
}

/** Returns the verdict of `--ready` on a response; `status` is null if no response arrived. */
export function readyVerdict(
  url: string,
  status: number | null,
): { readonly ready: boolean; readonly message: string } {
  if (status === null) return { ready: false, message: `ERROR: connection refused to ${url}` };
  const ready = status >= 200 && status <= 299;
  return { ready, message: `${ready ? "OK" : "ERROR"}: ${url}` };
}
