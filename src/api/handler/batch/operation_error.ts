/** The error of a batch. @module */
import type { FailedOperation } from "../../../base/errors/service_error.ts";

/** Wraps an error with the operation that it belongs to. The response is the response of the
 * cause. */
export class OperationError extends Error {
  /** Null for the batch as a whole. */
  readonly operation: FailedOperation | null;

  constructor(cause: unknown, operation: FailedOperation | null) {
    super("an operation failed", { cause });
    this.name = "OperationError";
    this.operation = operation;
  }
}
