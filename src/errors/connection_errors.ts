/**
 * Errors of the connection to the database.
 *
 * @module
 */
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
