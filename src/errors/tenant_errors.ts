/**
 * Errors of processes that serve several tenants.
 *
 * @module
 */
import { defineError } from "./definition.ts";

export const tenantErrors = {
  unknownTenant: defineError(
    "316",
    404,
    "the request names no tenant, or one that does not exist",
    () => ({ message: "No such tenant" }),
  ),
  tenantUnavailable: defineError(
    "317",
    503,
    "the tenant cannot be served; the log has the reason",
    (retryAfterSeconds: number) => ({
      message: "The tenant is not available",
      headers: [["Retry-After", String(retryAfterSeconds)]],
    }),
  ),
  foreignToken: defineError(
    "319",
    403,
    "the claim that `tenant-claim` names is not the name of the tenant",
    () => ({ message: "The token is for another tenant" }),
  ),
} as const;
