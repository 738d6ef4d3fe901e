/**
 * Turns PostgreSQL errors into responses: the status by SQLSTATE.
 *
 * @module
 */
import { type Dialect, fullControlStates, type StatusRule } from "../dialect.ts";
import { errors } from "./catalogue.ts";
import { bearerChallenge } from "./definition.ts";
import { reasonPhrase, sendableStatus } from "./http_text.ts";
import { truncated } from "./quoting.ts";
import { raisedResponse } from "./raised_response.ts";
import { type DatabaseFailure, ServiceError } from "./service_error.ts";

/** Inputs of the response besides the failure. */
export interface FailureContext {
  /** Whether the request's role differs from the anonymous role. */
  readonly authenticated: boolean;
  readonly dialect: Pick<Dialect, "errorPrefix" | "statuses" | "variants">;
}

/** An SQLSTATE or a class of them, and its status. */
type StatusRow = readonly [prefix: string, status: number];

/**
 * The statuses by SQLSTATE (PostgreSQL's appendix "Error Codes"). The first row whose prefix matches
 * counts, so a state of five characters precedes its class. The default is 400. The status of
 * 42501 (insufficient privilege) depends on the request: {@linkcode statusOf}.
 */
export const statusBySqlstate: readonly StatusRow[] = [
  ["08", 503], // connection exception
  ["09", 500], // triggered action exception
  ["0L", 403], // invalid grantor
  ["0P", 403], // invalid role specification
  ["23503", 409], // foreign key violation
  ["23505", 409], // unique violation
  ["25006", 405], // read-only transaction
  ["25", 500], // invalid transaction state
  ["28", 403], // invalid authorization specification
  ["2D", 500], // invalid transaction termination
  ["38", 500], // external routine exception
  ["39", 500], // external routine invocation exception
  ["3B", 500], // savepoint exception
  ["40", 500], // transaction rollback
  ["53", 503], // insufficient resources
  ["54", 413], // program limit exceeded
  ["55", 500], // object not in prerequisite state
  ["57P01", 503], // an administrator closed the connection: retrying helps
  ["57", 500], // operator intervention
  ["58", 500], // system error
  ["F0", 500], // configuration file error
  ["HV", 500], // foreign data wrapper error
  ["P0001", 400], // RAISE without a state
  ["P0", 500], // PL/pgSQL error
  ["XX", 500], // internal error
  ["42883", 404], // undefined function
  ["42P01", 404], // undefined table
  ["42P17", 500], // infinite recursion
];

const insufficientPrivilege = "42501";

/** The class of connection exceptions, such as those of `dblink` and of poolers. */
const connectionException = "08";

/** The states of closed connections: shutdowns, crashes, idle sessions. */
const endOfConnection = /^57P0[1-5]$/;

/**
 * Returns the status of a failure, except for full-control states. The dialect's rules take
 * precedence over the common ones.
 */
export function statusOf(
  failure: DatabaseFailure,
  { authenticated, dialect }: Pick<FailureContext, "authenticated"> & {
    readonly dialect: Pick<Dialect, "statuses">;
  },
): number {
  const { sqlstate } = failure;
  if (sqlstate.startsWith("PT")) return statusOfRaise(sqlstate);
  if (sqlstate === insufficientPrivilege) return authenticated ? 403 : 401;
  const own = dialect.statuses.find((rule) => applies(rule, failure));
  if (own !== undefined) return own.status;
  return statusBySqlstate.find(([prefix]) => sqlstate.startsWith(prefix))?.[1] ?? 400;
}

function applies({ state, message }: StatusRule, failure: DatabaseFailure): boolean {
  return failure.sqlstate.startsWith(state) && (message?.test(failure.message) ?? true);
}

/**
 * Returns the error of the response to a PostgreSQL failure.
 *
 * - If the server closes the connection, the error is `001`. A function that raises the same state
 *   does not close the connection.
 * - `PTnnn` sets the status nnn, and the message as reason phrase. An invalid nnn sets 500.
 * - A full-control state defines the response by the JSON of its message and detail.
 * - Any other failure is forwarded with the status of {@linkcode statusOf}. Every 401 has a
 *   `WWW-Authenticate` header.
 */
export function databaseFailureToError(
  failure: DatabaseFailure,
  context: FailureContext,
): ServiceError {
  if (fullControlStates.has(failure.sqlstate)) {
    return raisedResponse(failure, context.dialect.errorPrefix);
  }
  if (failure.fatal && endOfConnection.test(failure.sqlstate)) {
    return errors.connectionLost(`FATAL:  ${failure.message}`);
  }
  const status = statusOf(failure, context);
  return new ServiceError({
    code: failure.sqlstate,
    own: false,
    status,
    message: shortened(failure.message),
    details: failure.detail && shortened(failure.detail),
    hint: failure.hint && shortened(failure.hint),
    ...(failure.sqlstate.startsWith(connectionException) ? { describesServer: true } : {}),
    ...(status === 401 ? { headers: bearerChallenge } : {}),
    ...(failure.sqlstate === `PT${status}` ? { statusText: reasonPhrase(failure.message) } : {}),
  });
}

/** In UTF-16 units. PostgreSQL quotes whole values: `invalid input syntax for type integer: "…"`. */
const maxForwardedLength = 10_000;

function shortened(text: string): string {
  return truncated(text, maxForwardedLength);
}

function statusOfRaise(sqlstate: string): number {
  return /^PT[0-9]{3}$/.test(sqlstate) ? sendableStatus(Number(sqlstate.slice(2))) : 500;
}
