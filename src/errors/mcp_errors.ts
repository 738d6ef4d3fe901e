/**
 * Errors of the endpoint for agents.
 *
 * @module
 */
import { defineError } from "./definition.ts";

export const mcpErrors = {
  foreignOrigin: defineError(
    "192",
    403,
    "`mcp-allowed-origins` does not list the `Origin` of a request to `mcp-path`",
    () => ({
      message: "Origin not allowed",
      hint: "mcp-allowed-origins lists the origins of pages that may use this endpoint",
    }),
  ),
  roleNotListed: defineError(
    "193",
    403,
    "`mcp-roles` does not list the role of a request to `mcp-path`",
    () => ({ message: "The role may not use this endpoint" }),
  ),
} as const;
