/** Turns PostgreSQL errors into responses: the status by SQLSTATE. @module */
import { type Dialect, fullControlStates, type StatusRule } from "../dialect.ts";
import { errors } from "./catalogue.ts";
import { bearerChallenge } from "./definition.ts";
import { headerValue, isHeaderName, reasonPhrase, sendableStatus } from "./http_text.ts";
import { truncated } from "./quoting.ts";
import { type DatabaseFailure, isRaised, ServiceError } from "./service_error.ts";
import type { HeaderList } from "../lib/header_list.ts";
import { isJsonObject, parseJsonObject } from "../lib/json_object.ts";

/** Inputs of the response besides the failure. */
export interface FailureContext {
  /** Whether the request's role differs from the anonymous role. */
  readonly authenticated: boolean;
  readonly dialect: Pick<
    Dialect,
    "endedBackend" | "errorPrefix" | "hints" | "parseErrors" | "statuses" | "variants"
  >;
}

/** An SQLSTATE or a class of them, and its status. */
type StatusRow = readonly [prefix: string, status: number];

/**
 * The statuses by SQLSTATE (PostgreSQL's appendix "Error Codes"). The first row whose prefix
 * matches applies, so a state of five characters precedes its class. The default is 400. The status
 * of 42501 (insufficient privilege) depends on the request: {@linkcode statusOf}.
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

/** The class of connection exceptions, for example of `dblink` and of poolers. */
const connectionException = "08";

/** SQLSTATEs of errors whose messages can name a node of Citus. No SQLSTATE is for nodes alone. */
const nodeStates = /^(?:08|28|53|55|57|58|XX)/;

/** A node in a text of Citus: `remote node web_anon@10.0.0.7:5432 failed`, `to shard 9 on db-1:5432`. */
const nodePattern =
  /\b(?:(?:connections?|hosts?|nodes?|workers?)\b.*\S|(?:from|on|to) \S+):[0-9]{1,5}\b/s;

/** The states of closed connections: shutdowns, crashes, idle sessions. */
const endOfConnection = /^57P0[1-5]$/;

/** Returns the status of a PostgreSQL error. An error with a full-control state contains its status.
 * Rules of the dialect take precedence over {@linkcode statusBySqlstate}. */
export function statusOf(
  failure: DatabaseFailure,
  { authenticated, dialect }: Pick<FailureContext, "authenticated"> & {
    readonly dialect: Pick<Dialect, "statuses">;
  },
): number {
  const { sqlstate } = failure;
  if (sqlstate.startsWith("PT")) return statusOfRaise(sqlstate);
  if (sqlstate === insufficientPrivilege) return authenticated ? 403 : 401;
  const dialectRule = dialect.statuses.find((rule) => applies(rule, failure));
  if (dialectRule !== undefined) return dialectRule.status;
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
 * - A failure that names a node of Citus is 503. Its texts are for the log alone.
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
    return errors.connectionLost(
      context.dialect.endedBackend === "no connection"
        ? "no connection to the server\n"
        : `FATAL:  ${failure.message}`,
    );
  }
  const isOfNode = namesNode(failure);
  const status = isOfNode ? 503 : statusOf(failure, context);
  return new ServiceError({
    code: failure.sqlstate,
    own: false,
    status,
    message: shortened(failure.message),
    details: failure.detail && shortened(failure.detail),
    hint: hintOf(failure, context.dialect),
    ...(failure.subject === undefined ? {} : { subject: failure.subject }),
    ...(isOfNode
      ? { describesServer: "node" }
      : failure.sqlstate.startsWith(connectionException)
      ? { describesServer: true }
      : {}),
    ...(status === 401 ? { headers: bearerChallenge } : {}),
    ...(failure.sqlstate === `PT${status}` ? { statusText: reasonPhrase(failure.message) } : {}),
  });
}

function namesNode({ sqlstate, message, detail, hint, subject }: DatabaseFailure): boolean {
  return nodeStates.test(sqlstate) && !isRaised(subject) &&
    [message, detail, hint].some((text) => text !== null && nodePattern.test(text));
}

function hintOf(
  { hint, sqlstate, subject }: DatabaseFailure,
  { hints }: Pick<Dialect, "hints">,
): string | null {
  const isKept = hint !== null && isRaised(subject);
  return (isKept ? undefined : hints[sqlstate]) ?? (hint && shortened(hint));
}

/** In UTF-16 units. PostgreSQL quotes whole values: `invalid input syntax for type integer: "…"`. */
const maxForwardedLength = 10_000;

function shortened(text: string): string {
  return truncated(text, maxForwardedLength);
}

function statusOfRaise(sqlstate: string): number {
  return /^PT[0-9]{3}$/.test(sqlstate) ? sendableStatus(Number(sqlstate.slice(2))) : 500;
}

const messageHint = "MESSAGE must be a JSON object with obligatory keys: 'code', 'message' and " +
  "optional keys: 'details', 'hint'.";
const detailHint = "DETAIL must be a JSON object with obligatory keys: 'status', 'headers' and " +
  "optional key: 'status_text'.";

/**
 * Returns the error that a full-control failure defines. If its JSON is invalid, returns error 121: a
 * member is missing or has the wrong type, or a header is invalid. `state` is the SQLSTATE in the
 * message of 121.
 *
 * ```sql
 * raise sqlstate 'SVC00' using
 *   message = '{"code":"Q1","message":"Quota","details":"5 of 5","hint":"wait"}',
 *   detail  = '{"status":419,"status_text":"Page Expired","headers":{"X-Left":"0"}}';
 * ```
 */
function raisedResponse(failure: DatabaseFailure, state: string): ServiceError {
  const { message, detail } = failure;
  const body = raisedBody(message);
  if (body === null) {
    return errors.invalidRaise(state, `Invalid JSON value for MESSAGE: '${message}'`, messageHint);
  }
  if (detail === null) {
    return errors.invalidRaise(state, "DETAIL is missing in the RAISE statement", detailHint);
  }
  const head = raisedHead(detail);
  if (head === null) {
    return errors.invalidRaise(state, `Invalid JSON value for DETAIL: '${detail}'`, detailHint);
  }
  const status = sendableStatus(head.status);
  const statusText = status === head.status ? head.statusText : null;
  return new ServiceError({
    ...body,
    own: false,
    status,
    headers: head.headers,
    ...(statusText === null ? {} : { statusText: reasonPhrase(statusText) }),
  });
}

/** Returns the body, from the error's message. */
function raisedBody(text: string) {
  const { code, message, details = null, hint = null } = parseJsonObject(text) ?? {};
  return typeof code === "string" && typeof message === "string" && isTextOrNull(details) &&
      isTextOrNull(hint)
    ? { code, message, details, hint }
    : null;
}

/** Returns status and headers, from the error's detail. */
function raisedHead(text: string) {
  const { status, status_text: statusText = null, headers: listed } = parseJsonObject(text) ?? {};
  const headers = raisedHeaders(listed);
  return isInteger(status) && isTextOrNull(statusText) && headers !== null
    ? { status, statusText, headers }
    : null;
}

function raisedHeaders(value: unknown): HeaderList | null {
  if (!isJsonObject(value)) return null;
  const headers: [string, string][] = [];
  for (const [name, text] of Object.entries(value)) {
    const safe = typeof text === "string" && isHeaderName(name) ? headerValue(text) : null;
    if (safe === null) return null;
    headers.push([name, safe]);
  }
  return headers;
}

function isInteger(value: unknown): value is number {
  return Number.isInteger(value);
}

function isTextOrNull(value: unknown): value is string | null {
  return value === null || typeof value === "string";
}
