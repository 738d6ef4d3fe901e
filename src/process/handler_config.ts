/** The options that a handler shares with the configuration file. @module */
import type { Config, OptionValues } from "../state/config/options.ts";
import type { liveOptions } from "../wings/live/live_options.ts";
import type { mcpOptions } from "../wings/mcp/mcp_options.ts";
import type { operationOptions } from "../wings/operations/operation_options.ts";

/** Options that only the program uses. */
type ProcessOption =
  | `${"adminServer" | "log" | "metrics"}${string}`
  | `server${"HeaderTimeout" | "Host" | "IdleTimeout" | "MaxConnections" | "Port" | "Reuseport"}`
  | `server${"Unix" | "Workers"}${string}`
  | "dbEmbeddedInit";

/** Options that the handler does not have, or documents differently. */
type DescribedOption = "dbSchemas" | "dbUri" | "dialect" | "jwtSecret" | "wingOptions";

/** The options of the wing `operations`. The handler takes the operations as a JSON text. */
interface OperationValues extends Omit<OptionValues<typeof operationOptions>, "operations"> {
  readonly operations: string | null;
}

/**
 * Options of the configuration, named by their keys in camel case. The page *Options* of the
 * documentation describes each option. In the npm package, this type is an interface with comments.
 */
export type HandlerConfig = Partial<
  & Omit<Config, ProcessOption | DescribedOption>
  & OptionValues<typeof mcpOptions>
  & OptionValues<typeof liveOptions>
  & OperationValues
>;
