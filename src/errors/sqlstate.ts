/**
 * What an error of PostgreSQL is answered with.
 *
 * @module
 */
import { type Dialect, fullControlStates, type StatusRule } from "../dialect.ts";
import { bearerChallenge, errors } from "./catalogue.ts";
import { reasonPhrase, sendableStatus } from "./http_text.ts";
import { truncated } from "./quoting.ts";
import { raisedResponse } from "./raised_response.ts";
import { type DatabaseFailure, ServiceError } from "./service_error.ts";

/** What the answer depends on beside the failure itself. */
export interface FailureContext {
  /** Whether the request's role differs from the anonymous role. */
  readonly authenticated: boolean;
  readonly dialect: Pick<Dialect, "errorPrefix" | "statuses" | "variants">;
}

/** A state or a class of states, and the status it is answered with. */
type StatusRow = readonly [prefix: string, status: number];

/**
 * The statuses by SQLSTATE (PostgreSQL's appendix "Error Codes"). The first row whose text starts the
 * state counts; a state of five characters stands before its class. What is not listed is 400.
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
  ["57P01", 503], // the connection was ended by an administrator: it will be back
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

/** The states with which PostgreSQL ends connections: shutdowns, crashes, idle sessions. */
const endOfConnection = /^57P0[1-5]$/;

/**
 * Gives the status that a failure is answered with, full-control states aside. The dialect's own rules
 * go before the common ones.
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
 * Makes the error that a failure of PostgreSQL is answered with.
 *
 * - A server that ends the connection is a lost connection, `001`. A function that raises the same
 *   state is not.
 * - `PTnnn` answers with status nnn; the message is the reason phrase too. 500 when nnn is no status
 *   that can be sent.
 * - A full-control state answers with what its message and detail say, as JSON.
 * - Anything else is forwarded with the status of {@linkcode statusOf}; every 401 challenges for a
 *   token.
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

/** PostgreSQL quotes whole values, as in `invalid input syntax for type integer: "…"`. */
const maxForwardedLength = 10_000;

function shortened(text: string): string {
  return truncated(text, maxForwardedLength);
}

function statusOfRaise(sqlstate: string): number {
  return /^PT[0-9]{3}$/.test(sqlstate) ? sendableStatus(Number(sqlstate.slice(2))) : 500;
}
