/**
 * Errors of the service itself.
 *
 * @module
 */
import { defineError } from "./definition.ts";

export const internalErrors = {
  internal: defineError(
    "X00",
    500,
    "the service has an internal error",
    (message: string) => ({ message }),
  ),
} as const;
