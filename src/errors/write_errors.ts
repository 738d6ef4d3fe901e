/** Errors of writes that PostgREST does not have. @module */
import { defineError } from "./definition.ts";
import { quotable, quotableList } from "./quoting.ts";

export const writeErrors = {
  invalidLock: defineError(
    "195",
    400,
    "`lock` is malformed, or not possible for the request",
    (details: string) => ({
      message: "Rows cannot be locked",
      details: quotable(details),
      hint: "Send PATCH or DELETE with order, limit and lock=skip or lock=nowait",
    }),
  ),
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
  notNestable: defineError(
    "147",
    400,
    "a nested insert is not possible",
    (path: readonly string[], details: string) => ({
      message: `Cannot write '${quotable(path.join("."))}' nested`,
      details: quotable(details),
    }),
  ),
  rowsNotAssigned: defineError(
    "148",
    409,
    "a level of a nested insert wrote other rows than were sent",
    (path: string, sent: string, written: string) => ({
      message: `Rows of '${quotable(path)}' cannot be assigned to the body`,
      details: `${sent} sent, ${written} written`,
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
  preconditionFailed: defineError(
    "151",
    412,
    "a precondition (`If-Match`, `If-None-Match`) does not hold",
    () => ({ message: "Precondition failed" }),
  ),
  preconditionRequired: defineError(
    "152",
    428,
    "with `etag-mode = required`, an update or delete has no precondition",
    () => ({
      message: "Precondition required",
      hint: "Send If-Match with the ETag of a read",
    }),
  ),
  invalidIdempotencyKey: defineError(
    "153",
    400,
    "the header `Idempotency-Key` is malformed",
    () => ({
      message: "Invalid Idempotency-Key",
      hint: "Send 1 to 255 visible ASCII characters, or a quoted string of them",
    }),
  ),
  idempotencyKeyReused: defineError(
    "154",
    422,
    "an `Idempotency-Key` was used for another request",
    () => ({ message: "Idempotency-Key was used for a different request" }),
  ),
  idempotencyKeyInProgress: defineError(
    "155",
    409,
    "the request that an `Idempotency-Key` belongs to is in progress",
    () => ({
      message: "A request with this Idempotency-Key is in progress",
      headers: [["Retry-After", "1"]],
    }),
  ),
  answerTooLarge: defineError(
    "156",
    413,
    "a response that is to be kept exceeds `idempotency-max-bytes`",
    (bytes: number, limit: number) => ({
      message: "Response is too large to be kept",
      details: `${bytes} bytes, at most ${limit}`,
      hint: "Use Prefer: return=minimal",
    }),
  ),
  invalidConflict: defineError(
    "157",
    400,
    "`on_conflict.…` or `merge_action()` cannot be applied",
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
  invalidPrecondition: defineError(
    "159",
    400,
    "a precondition is malformed or has more than 64 entity tags",
    (header: string) => ({ message: `Invalid ${header}` }),
  ),
} as const;
