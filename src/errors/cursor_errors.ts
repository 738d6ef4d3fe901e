/**
 * Errors of cursors.
 *
 * @module
 */
import { defineError } from "./definition.ts";
import { quotable } from "./quoting.ts";

export const cursorErrors = {
  invalidCursor: defineError(
    "168",
    400,
    "`after` or `before` has a value that is not a cursor",
    () => ({ message: "Invalid cursor" }),
  ),
  otherCursor: defineError(
    "169",
    400,
    "`after` or `before` has the cursor of another order or relation",
    (order: string) => ({
      message: "The cursor belongs to another order of rows",
      details: `Order is: ${quotable(order)}`,
      hint: "Begin with an empty 'after'",
    }),
  ),
  noKey: defineError(
    "170",
    400,
    "a request has cursors, and the schema cache has no key of the rows",
    (relation: string) => ({
      message: `Rows of '${quotable(relation)}' have no known key`,
      hint: "Declare one: db-relationships or a comment with @primaryKey",
    }),
  ),
  cursorConflict: defineError(
    "171",
    400,
    "a cursor stands beside an offset, another cursor, a distance or a spread",
    (other: string) => ({ message: `A cursor cannot be combined with ${other}` }),
  ),
} as const;
