/** The options that a handler shares with the configuration file. @module */
import type { Config } from "./options.ts";

/** Options that only the process of svc uses. */
type ProcessOption =
  | `${"adminServer" | "log" | "metrics" | "tenant"}${string}`
  | `server${"HeaderTimeout" | "Host" | "IdleTimeout" | "MaxConnections" | "Port" | "Reuseport"}`
  | `server${"Unix" | "Workers"}${string}`
  | "dbEmbeddedInit";

/** Options that a handler describes itself. */
type DescribedOption = "dbSchemas" | "dbUri" | "dialect" | "jwtSecret";

/**
 * Options of the configuration, named by their keys in camel case. The page *Options* of the documentation
 * describes each with its default; the npm package has this as an interface with comments.
 */
export type HandlerConfig = Partial<Omit<Config, ProcessOption | DescribedOption>>;
