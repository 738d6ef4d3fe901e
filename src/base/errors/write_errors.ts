/** Errors of writes. PostgREST does not have these errors. @module */
import { defineError } from "./definition.ts";
import { quotable, quotableList } from "./quoting.ts";

export const writeErrors = {
  invalidLock: defineError("195", 400, (details: string) => ({
    message: "Rows cannot be locked",
    details: quotable(details),
    hint: "Send PATCH or DELETE with order, limit and lock=skip or lock=nowait",
  })).when("`lock` is malformed, or not possible for the request"),
  unmatchableRows: defineError("145", 400, (columns: readonly string[], details: string) => ({
    message: `Rows cannot be matched by '${quotableList(columns)}'`,
    details,
  })).when("rows of the body cannot be matched by the columns of `on`"),
  unmatchedRows: defineError("146", 404, (count: number, keys: string | null) => ({
    message: `${count} rows were not found`,
    details: keys,
  })).when("with `Prefer: unmatched=fail`, rows of the body match no row"),
  notNestable: defineError("147", 400, (path: readonly string[], details: string) => ({
    message: `Cannot write '${quotable(path.join("."))}' nested`,
    details: quotable(details),
  })).when("a nested insert is not possible"),
  rowsNotAssigned: defineError("148", 409, (path: string, sent: string, written: string) => ({
    message: `Rows of '${quotable(path)}' cannot be assigned to the body`,
    details: `${sent} sent, ${written} written`,
  })).when("a level of a nested insert wrote other rows than were sent"),
  invalidPatch: defineError("149", 400, (details: string) => ({
    message: "Invalid patch document",
    details: quotable(details),
  })).when("a patch document is malformed, or not for the types of the columns"),
  patchDoesNotApply: defineError("150", 409, (details: string) => ({
    message: "Patch does not apply",
    details: quotable(details),
  })).when("a patch document does not apply to a row"),
  preconditionFailed: defineError("151", 412, () => ({ message: "Precondition failed" })).when(
    "a precondition (`If-Match`, `If-None-Match`) does not hold",
  ),
  preconditionRequired: defineError("152", 428, () => ({
    message: "Precondition required",
    hint: "Send If-Match with the ETag of a read",
  })).when("with `etag-mode = required`, an update or delete has no precondition"),
  invalidIdempotencyKey: defineError("153", 400, () => ({
    message: "Invalid Idempotency-Key",
    hint: "Send 1 to 255 visible ASCII characters, or a quoted string of them",
  })).when("the header `Idempotency-Key` is malformed"),
  idempotencyKeyReused: defineError("154", 422, () => ({
    message: "Idempotency-Key was used for a different request",
  })).when("an `Idempotency-Key` was used for another request"),
  idempotencyKeyInProgress: defineError("155", 409, () => ({
    message: "A request with this Idempotency-Key is in progress",
    headers: [["Retry-After", "1"]],
  })).when("the request that an `Idempotency-Key` belongs to is in progress"),
  answerTooLarge: defineError("156", 413, (bytes: number, limit: number) => ({
    message: "Response is too large to be kept",
    details: `${bytes} bytes, at most ${limit}`,
    hint: "Use Prefer: return=minimal",
  })).when("a response that is to be kept exceeds 1 MiB"),
  invalidConflict: defineError("157", 400, (details: string, hint: string | null = null) => ({
    message: "Invalid conflict handling",
    details: quotable(details),
    hint,
  })).when("`on_conflict.…` or `merge_action()` cannot be applied"),
  unfilteredWrite: defineError("158", 400, (statement: "UPDATE" | "DELETE") => ({
    message: `${statement} requires a WHERE clause`,
    hint: "Add a filter, or the header Prefer: handling=strict, max-affected=<rows>",
  })).when("with `db-safe-update`, an update or delete has no filter"),
  invalidPrecondition: defineError("159", 400, (header: string) => ({
    message: `Invalid ${header}`,
  })).when("a precondition is malformed or has more than 64 entity tags"),
} as const;
