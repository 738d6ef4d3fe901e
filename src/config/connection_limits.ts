/** The options that limit the connections of clients. Only a server that accepts connections has
 * them. @module */
import { type Config, type OptionKey } from "./options.ts";

type LimitConfig = Pick<
  Config,
  "serverHeaderTimeout" | "serverIdleTimeout" | "serverMaxConnections"
>;

/** Returns the options that set limits of connections. */
export function limitKeys(config: LimitConfig): readonly OptionKey[] {
  const { serverHeaderTimeout, serverIdleTimeout, serverMaxConnections } = config;
  const keys: OptionKey[] = [];
  if (serverHeaderTimeout > 0) keys.push("server-header-timeout");
  if (serverIdleTimeout > 0) keys.push("server-idle-timeout");
  if (serverMaxConnections > 0) keys.push("server-max-connections");
  return keys;
}
