/** Errors of tenants. @module */
import { defineError } from "../../base/errors/definition.ts";

export const tenantErrors = {
  unknownTenant: defineError("316", 404, () => ({ message: "No such tenant" })).when(
    "the request names no tenant, or one that does not exist",
  ),
  tenantUnavailable: defineError("317", 503, (retryAfterSeconds: number) => ({
    message: "The tenant is not available",
    headers: [["Retry-After", String(retryAfterSeconds)]],
  })).when("the tenant cannot be served; the log has the reason"),
} as const;
