/**
 * What the failure of a database means for the service beyond the request that met it.
 *
 * @module
 */
import { DatabaseError, ServiceError } from "../errors/service_error.ts";

/** What the names of prepared statements begin with. */
export const statementNamePrefix = "svc_";

/** A failure that trying again does not repair. */
export type FatalFailure =
  | { readonly kind: "login" }
  | { readonly kind: "pooler"; readonly mode: "transaction" | "statement" };

/** Recognises a failure after which trying again is in vain; null for all others. */
export function fatalFailureOf(thrown: unknown): FatalFailure | null {
  if (thrown instanceof ServiceError) {
    const { own, code, details } = thrown.facts;
    return own && code === "000" && isLoginRefused(String(details)) ? { kind: "login" } : null;
  }
  if (!(thrown instanceof DatabaseError)) return null;
  const { sqlstate, message } = thrown.failure;
  if (sqlstate === "42P05" && message.includes(`"${statementNamePrefix}`)) {
    return { kind: "pooler", mode: "transaction" };
  }
  return sqlstate === "08P01" && message.includes(statementPooling)
    ? { kind: "pooler", mode: "statement" }
    : null;
}

const statementPooling = "transaction blocks not allowed in statement pooling mode";

/** Whether a connection failed because of its password. */
export function isLoginRefused(reason: string): boolean {
  return reason.includes("FATAL:  password authentication failed") ||
    reason.includes("no password supplied");
}

/** Whether a failure shows that the way to the database was lost, or could not be found. */
export function isConnectionLost(thrown: unknown): boolean {
  if (thrown instanceof ServiceError) {
    const { own, code } = thrown.facts;
    return own && (code === "000" || code === "001");
  }
  return thrown instanceof DatabaseError && /^57P0[123]$/.test(thrown.failure.sqlstate);
}
