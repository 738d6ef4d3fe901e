/** The error of a batch. @module */
import type { FailedOperation } from "../../base/errors/service_error.ts";

/** The error of a batch, and the operation that failed. `cause` determines the response. */
export class OperationError extends Error {
  /** Null if the batch failed as a whole. */
  readonly operation: FailedOperation | null;

  constructor(cause: unknown, operation: FailedOperation | null) {
    super("an operation failed", { cause });
    this.name = "OperationError";
    this.operation = operation;
  }
}
