/**
 * Errors of reads that standbys should execute.
 *
 * @module
 */
import { defineError } from "./definition.ts";

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
