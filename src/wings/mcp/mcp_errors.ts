/** Errors of the endpoint for agents. @module */
import { defineError } from "../../base/errors/definition.ts";

export const mcpErrors = {
  foreignOrigin: defineError("192", 403, () => ({
    message: "Origin not allowed",
    hint: "mcp-allowed-origins lists the origins of pages that may use this endpoint",
  })).when("`mcp-allowed-origins` does not list the `Origin` of a request to `mcp-path`"),
  roleNotListed: defineError("193", 403, () => ({ message: "The role may not use this endpoint" }))
    .when("`mcp-roles` does not list the role of a request to `mcp-path`"),
} as const;
