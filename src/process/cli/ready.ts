/** `--ready`: sends a request to the admin server of a running service. @module */
import type { Config } from "../../state/config/options.ts";

/** Loopback addresses of the special hosts, in the server's order of preference. */
const loopbackAddresses: ReadonlyMap<string, readonly string[]> = new Map([
  ["*", ["127.0.0.1", "::1"]],
  ["*4", ["127.0.0.1", "::1"]],
  ["!4", ["127.0.0.1"]],
  ["*6", ["::1", "127.0.0.1"]],
  ["!6", ["::1"]],
]);

export interface ReadyAnswer {
  readonly isReady: boolean;
  readonly message: string;
}

/** Requests the readiness from the admin server of a configuration. `request` resolves with a
 * status, or null without a response. */
export async function askReady(
  { adminServerHost: host, adminServerPort: port, dialect }: Pick<
    Config,
    "adminServerHost" | "adminServerPort" | "dialect"
  >,
  request: (url: string) => Promise<number | null> = requestStatus,
): Promise<ReadyAnswer> {
  if (port === null) {
    return notReady("Admin server is not running. Please check admin-server-port config.");
  }
  const loopback = loopbackAddresses.get(host);
  if (loopback !== undefined && dialect.readyOnWildcard === "error") {
    return notReady(
      `The \`--ready\` flag cannot be used when server-host is configured as "${host}". ` +
        'Please update your server-host config to "localhost".',
    );
  }
  const urls = (loopback ?? [host]).map((address) =>
    `http://${address.includes(":") ? `[${address}]` : address}:${port}/ready`
  );
  for (const url of urls) {
    if (!URL.canParse(url)) return notReady(`invalid url - ${url}`);
    const status = await request(url);
    if (status === null) continue;
    const isReady = status >= 200 && status <= 299;
    return isReady ? { isReady, message: `OK: ${url}` } : notReady(url);
  }
  return notReady(`connection refused to ${urls[0]}`);
}

function notReady(reason: string): ReadyAnswer {
  return { isReady: false, message: `ERROR: ${reason}` };
}

async function requestStatus(url: string): Promise<number | null> {
  try {
    const response = await fetch(url, { redirect: "manual" });
    await response.body?.cancel();
    return response.status;
  } catch {
    return null;
  }
}
