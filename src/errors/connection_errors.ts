/** Errors of the connection to the database. @module */
import { defineError } from "./definition.ts";

export const connectionErrors = {
  cannotConnect: defineError(
    "000",
    503,
    "the service cannot connect to the database",
    (details: string | null) => ({
      message: "Database connection error.",
      details,
      describesServer: true,
    }),
  ),
  connectionLost: defineError(
    "001",
    503,
    "the connection was lost during the request",
    (details: string | null) => ({
      message: "Database client error. Retrying the connection.",
      details,
      describesServer: true,
    }),
  ),
  noSchemaCache: defineError("002", 503, "the schema cache is not loaded yet", () => ({
    message: "Could not query the database for the schema cache. Retrying.",
  })),
  acquisitionTimeout: defineError(
    "003",
    504,
    "no pool connection became free within `db-pool-acquisition-timeout`",
    () => ({
      message: "Timed out acquiring connection from connection pool.",
    }),
  ),
} as const;

export const internalErrors = {
  internal: defineError(
    "X00",
    500,
    "the service has an internal error",
    (message: string) => ({ message }),
  ),
} as const;

export const replicaErrors = {
  noStandby: defineError(
    "000",
    503,
    'no standby is fit for the read, with `db-replica-fallback = "error"`',
    () => ({
      message: "Database connection error.",
      details: "No standby is fit for the read",
      concernsStandbys: true,
    }),
  ),
  fallbacksFull: defineError(
    "135",
    503,
    "reads in place of standbys use half of the primary's pool",
    () => ({
      message: "Too many requests at the same time",
      headers: [["Retry-After", "1"]],
      shedReason: "replica",
    }),
  ),
} as const;

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
