/**
 * The endpoint for agents as a separate module, for bundles that must contain it.
 *
 * A handler with `mcpPath` loads the endpoint and the npm package `@modelcontextprotocol/server` with
 * the first message. If a runtime cannot load modules later, such as Cloudflare Workers, its bundle
 * needs both:
 *
 * ```ts ignore
 * import { createHandler } from "svc-api";
 * import { withMcp } from "svc-api/mcp";
 *
 * const api = withMcp(createHandler({ dbUri, dbSchemas: ["api"] }), { mcpPath: "/mcp" });
 * ```
 *
 * @module
 */
import type { OptionValues } from "../../state/config/options.ts";
import type { mcpOptions } from "./mcp_options.ts";
import type { Handler } from "../../api/lazy_handler.ts";
import { type ExtensibleHandler, mcpExtension } from "./mcp_port.ts";
import { loadLibrary, openEndpoint } from "./endpoint.ts";

export { loadLibrary, openEndpoint };

/** Options of the endpoint, which override the handler's options. */
export type McpOptions = Partial<OptionValues<typeof mcpOptions>>;

/**
 * Adds the endpoint to a handler of `createHandler`. Returns the handler.
 *
 * Throws an `Error` for another kind of handler, after the first request of the handler, and for an
 * invalid option.
 */
export function withMcp(handler: Handler, options: McpOptions = {}): Handler {
  const extend = (handler as ExtensibleHandler)[mcpExtension];
  if (extend === undefined) throw new Error("withMcp: expected a handler of createHandler");
  extend(() => Promise.resolve({ openEndpoint, loadLibrary }), options);
  return handler;
}
