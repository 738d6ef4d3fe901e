/** The options that limit the connections of clients. Only a server that accepts connections has
 * them. @module */
import { camelCase } from "./names.ts";
import type { Config, OptionKey } from "./options.ts";

const limits = ["server-header-timeout", "server-idle-timeout", "server-max-connections"] as const;

/** Returns the options that limit connections. */
export function limitKeys(
  config: Pick<Config, "serverHeaderTimeout" | "serverIdleTimeout" | "serverMaxConnections">,
): readonly OptionKey[] {
  return limits.filter((key) => config[camelCase(key)] > 0);
}
