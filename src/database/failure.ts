/** Classifies database failures that concern the whole service, not only one request. @module */
import { errorMessage } from "../base/errors/error_message.ts";
import { DatabaseError, type DatabaseFailure, ServiceError } from "../base/errors/service_error.ts";

export const statementNamePrefix = "svc_";

/** A failure that a retry cannot repair. */
export type FatalFailure =
  | { readonly kind: "login" }
  | { readonly kind: "pooler"; readonly mode: "transaction" | "statement" };

/** Returns the kind of a failure that a retry cannot repair; null for all other errors. */
export function fatalFailureOf(thrown: unknown): FatalFailure | null {
  if (thrown instanceof ServiceError) {
    const { own, code, details } = thrown.fields;
    return own && code === "000" && isLoginRefused(String(details)) ? { kind: "login" } : null;
  }
  if (!(thrown instanceof DatabaseError) || isOfFunction(thrown.failure)) return null;
  const { sqlstate, message } = thrown.failure;
  if (sqlstate === "42P05" && message.includes(`"${statementNamePrefix}`)) {
    return { kind: "pooler", mode: "transaction" };
  }
  return sqlstate === "08P01" && message.includes(statementPooling)
    ? { kind: "pooler", mode: "statement" }
    : null;
}

const statementPooling = "transaction blocks not allowed in statement pooling mode";

export function isLoginRefused(reason: string): boolean {
  return reason.includes("FATAL:  password authentication failed") ||
    reason.includes("no password supplied");
}

/** Whether the connection was lost or could not be opened: codes `000`, `001`, or SQLSTATE 57P01–3. */
export function isConnectionLost(thrown: unknown): boolean {
  if (thrown instanceof ServiceError) {
    const { own, code, concernsStandbys } = thrown.fields;
    return own && (code === "000" || code === "001") && concernsStandbys !== true;
  }
  return thrown instanceof DatabaseError && /^57P0[123]$/.test(thrown.failure.sqlstate) &&
    !isOfFunction(thrown.failure);
}

/** Returns why a connection or a transaction failed, for operators. */
export function failureReason(thrown: unknown): string {
  if (!(thrown instanceof ServiceError)) return errorMessage(thrown);
  return String(thrown.fields.details ?? thrown.message);
}

/** Returns whether a user-defined function raised the failure, or received it from another server.
 * After such a failure, the connection is still usable. */
function isOfFunction({ fatal, subject }: DatabaseFailure): boolean {
  return fatal !== true && subject?.isNested === true;
}
