/** Errors of the connection to the database, of standbys and of tenants. @module */
import { defineError } from "./definition.ts";

export const connectionErrors = {
  cannotConnect: defineError("000", 503, (details: string | null) => ({
    message: "Database connection error.",
    details,
    describesServer: true,
  })).when("the service cannot connect to the database"),
  connectionLost: defineError("001", 503, (details: string | null) => ({
    message: "Database client error. Retrying the connection.",
    details,
    describesServer: true,
  })).when("the connection was lost during the request"),
  noSchemaCache: defineError("002", 503, () => ({
    message: "Could not query the database for the schema cache. Retrying.",
  })).when("the schema cache is not loaded yet"),
  acquisitionTimeout: defineError("003", 504, () => ({
    message: "Timed out acquiring connection from connection pool.",
  })).when("no pool connection became free within `db-pool-acquisition-timeout`"),
  internal: defineError("X00", 500, (message: string) => ({ message })).when(
    "the service has an internal error",
  ),
  noStandby: defineError("000", 503, () => ({
    message: "Database connection error.",
    details: "No standby is fit for the read",
    concernsStandbys: true,
  })).when('no standby is fit for the read, with `db-replica-fallback = "error"`'),
  foreignToken: defineError("319", 403, () => ({ message: "The token is for another tenant" }))
    .when("the claim that `tenant-claim` names is not the name of the tenant"),
} as const;
