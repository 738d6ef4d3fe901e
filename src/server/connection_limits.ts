/** The limits of connections, from the configuration. @module */
import { limitKeys } from "../config/connection_limits.ts";
import type { Config } from "../config/options.ts";
import type { ConnectionLimits } from "./connection_table.ts";

type ServedConfig = Pick<
  Config,
  "serverBodyTimeout" | "serverHeaderTimeout" | "serverIdleTimeout" | "serverMaxConnections"
>;

/** Returns the limits of connections to the API; null if none is set. */
export function connectionLimits(config: ServedConfig): ConnectionLimits | null {
  const keys = limitKeys(config);
  // After a body that stalled, the connection has to be closed.
  if (keys.length === 0 && config.serverBodyTimeout === 0) return null;
  return {
    keys,
    headerTimeoutMs: config.serverHeaderTimeout * 1000,
    idleTimeoutMs: config.serverIdleTimeout * 1000,
    maxConnections: config.serverMaxConnections,
  };
}
