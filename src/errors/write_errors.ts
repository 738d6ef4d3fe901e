/**
 * Errors of writes that PostgREST does not have.
 *
 * @module
 */
import { defineError } from "./definition.ts";
import { quotable, quotableList } from "./quoting.ts";

export const writeErrors = {
  unmatchableRows: defineError(
    "145",
    400,
    "rows of the body cannot be matched by the columns of `on`",
    (columns: readonly string[], details: string) => ({
      message: `Rows cannot be matched by '${quotableList(columns)}'`,
      details,
    }),
  ),
  unmatchedRows: defineError(
    "146",
    404,
    "with `Prefer: unmatched=fail`, rows of the body match no row",
    (count: number, keys: string | null) => ({
      message: `${count} rows were not found`,
      details: keys,
    }),
  ),
  invalidPatch: defineError(
    "149",
    400,
    "a patch document is malformed, or not for the types of the columns",
    (details: string) => ({ message: "Invalid patch document", details: quotable(details) }),
  ),
  patchDoesNotApply: defineError(
    "150",
    409,
    "a patch document does not apply to a row",
    (details: string) => ({ message: "Patch does not apply", details: quotable(details) }),
  ),
  invalidConflict: defineError(
    "157",
    400,
    "`on_conflict.index` or `on_conflict.columns` cannot be applied",
    (details: string, hint: string | null = null) => ({
      message: "Invalid conflict handling",
      details: quotable(details),
      hint,
    }),
  ),
  unfilteredWrite: defineError(
    "158",
    400,
    "with `db-safe-update`, an update or delete has no filter",
    (statement: "UPDATE" | "DELETE") => ({
      message: `${statement} requires a WHERE clause`,
      hint: "Add a filter, or the header Prefer: handling=strict, max-affected=<rows>",
    }),
  ),
} as const;
