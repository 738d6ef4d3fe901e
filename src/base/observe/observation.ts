/** The events that the service reports, with their severity and their text in the log. @module */
import type { ShedReason } from "../errors/service_error.ts";
import {
  replacementsText,
  type TargetNameUse,
  targetNameWarning,
} from "../errors/target_name_warning.ts";
import { callText, type CallWords } from "./call_words.ts";
import { redact } from "./redact.ts";
import { type LogLevel, logLevels } from "../log_level.ts";

/** An error with all the fields of an error response. */
export interface ReportedError {
  readonly code: string;
  readonly message: string;
  readonly details: string | readonly Readonly<Record<string, string>>[] | null;
  readonly hint: string | null;
}

/** Number of objects in the schema cache, by kind. */
export interface SchemaCacheCounts {
  readonly relations: number;
  readonly relationships: number;
  readonly functions: number;
  readonly representations: number;
  readonly mediaHandlers: number;
}

/** Time that the server took for one query of a load. */
export interface QueryTiming {
  readonly name: string;
  readonly ms: number;
}

/** A finished request. Texts are as the client sent them. */
export interface FinishedRequest {
  readonly kind: "request-finished";
  readonly method: string;
  /** Path and query string. */
  readonly target: string;
  readonly status: number;
  /** `Content-Length`, if the response has one. */
  readonly length: number | null;
  /** Null when authentication failed. */
  readonly role: string | null;
  /** Address without port; null for Unix sockets. */
  readonly client: string | null;
  readonly referer: string | null;
  readonly userAgent: string | null;
  /** Time of arrival, in epoch milliseconds. */
  readonly time: number;
  /** Milliseconds from the arrival to the head of the response. */
  readonly durationMs: number;
  /** `/`, `/<relation>` or `/rpc/<function>` of the schema cache, or `_unknown`. */
  readonly route: string;
  /** `HTTP/1.1`; null where the server does not show the version. */
  readonly protocol: string | null;
  /** Milliseconds in the queue of the pool; null if the log does not need them. */
  readonly queueMs: number | null;
  /** Milliseconds of the transaction without {@linkcode queueMs}; null if the log does not need them. */
  readonly databaseMs: number | null;
  /** Value of the header that `server-request-id-header` names; null if the option is not set. */
  readonly requestId: string | null;
  /** Trace of the request: of OpenTelemetry if it is on, else of the `traceparent` header. */
  readonly traceId: string | null;
  readonly spanId: string | null;
  /** Code of the error that the client received: `SVC116`, `42501`. */
  readonly code: string | null;
  /** Name of the tenant. Default: null, without tenants. */
  readonly tenant?: string | null;
  /** Name of the API key. Default: null, for a request without a key. */
  readonly apiKey?: string | null;
}

/** Statements of a request, without values. Observers receive it before the `request-finished` event. */
export interface QueriedRequest {
  readonly kind: "request-queried";
  readonly status: number;
  /** SQL with `$1` …, one text per statement. */
  readonly texts: readonly string[];
}

/** Why a tenant is no longer loaded. */
export type TenantEnd =
  | "idle"
  | "least recently used"
  | "changed"
  | "removed"
  | "failed"
  | "shutdown";

/** An event that only metrics count. */
type CountedEvent =
  /** A limit refused a request under overload. */
  | { readonly kind: "request-shed"; readonly reason: ShedReason }
  /** A client has connected. Servers that leave that to `Deno.serve` do not report it. */
  | { readonly kind: "connection-opened" }
  | { readonly kind: "connection-closed"; readonly reason: ConnectionEnd };

/** `limit`: `server-max-connections` needed the place. `client` includes shutdowns. */
export type ConnectionEnd = "client" | "header" | "body" | "idle" | "limit";

/**
 * An event. No event contains a token, a secret or a connection string. `tenant` is the name of the
 * tenant that it is about, if the process serves several.
 */
export type Observation = ServiceEvent & { readonly tenant?: string | null };

type ServiceEvent = DiagnosticEvent | FinishedRequest | QueriedRequest | CountedEvent;

/** Events of the diagnostic log. Finished requests go to the access log, and some only to metrics. */
export type Diagnostic = DiagnosticEvent & { readonly tenant?: string | null };

type DiagnosticEvent = {
  [Kind in keyof typeof diagnostics]:
    & { readonly kind: Kind }
    & Readonly<Parameters<(typeof diagnostics)[Kind]["text"]>[0]>;
}[keyof typeof diagnostics];

/** A write that an agent has requested by a tool. */
export type AgentWrite = Extract<DiagnosticEvent, { readonly kind: "agent-write" }>;

/** How the log shows a kind of events. */
interface DiagnosticRow<Fields> {
  /** The least verbose log level that includes the events. */
  readonly severity: LogLevel;
  /** The level that lines of JSON have. */
  readonly level: LogLevel;
  /** An array has several lines. */
  readonly text: (event: Fields, call: CallWords) => string | readonly string[];
}

/** Returns a function that makes rows of a severity. `level` is the level in lines of JSON. */
function rows(severity: LogLevel, level: LogLevel = severity) {
  return <Fields extends object>(text: DiagnosticRow<Fields>["text"]): DiagnosticRow<Fields> => ({
    severity,
    level,
    text,
  });
}

const [error, warn, info, debug] = [rows("error"), rows("warn"), rows("info"), rows("debug")];
/** Information, risks and failures that each log level includes. */
const [notice, warning, failure] = [
  rows("crit", "info"),
  rows("crit", "warn"),
  rows("crit", "error"),
];

interface Failure {
  readonly error: ReportedError;
}

/** Diagnostic events: severity and text of each. */
export const diagnostics = {
  "starting": notice(({ name, version }: { name: string; version: string }) =>
    `Starting ${name} ${version}...`
  ),
  "listening": notice(({ what, address }: { what: "api" | "admin"; address: string }) =>
    `${what === "api" ? "API" : "Admin"} server listening on ${redact(address)}`
  ),
  /** `attempt` is 1 for the first attempt. */
  "connecting": debug(({ attempt }: { attempt: number }) =>
    `Attempting to connect to the database${attempt > 1 ? ` (attempt ${attempt})` : ""}...`
  ),
  "connected": notice(({ version }: { version: string }) =>
    `Successfully connected to ${redact(version)}`
  ),
  "connections-encrypted": notice(({ isEncrypted }: { isEncrypted: boolean }) =>
    `Connections to the database are ${isEncrypted ? "encrypted" : "not encrypted"}`
  ),
  "database-silent": failure(() => "WARNING: The database has not answered for 1 second"),
  "database-answers": notice(({ ms }: { ms: number }) =>
    `The database answers again, after ${(ms / 1000).toFixed(1)} seconds`
  ),
  "connect-failed": failure(({ error }: Failure) =>
    `Failed to establish a connection. ${toJson(error)}`
  ),
  "connection-lost": error(({ error }: Failure) => toJson(error)),
  "retrying": warning(({ seconds }: { seconds: number }) =>
    `Attempting to reconnect to the database in ${seconds} seconds...`
  ),
  "recovery-disabled": failure(() => "Automatic recovery disabled, exiting."),
  "pool-ready": notice(({ max }: { max: number }) =>
    `Connection Pool initialized with a maximum size of ${max} connections`
  ),
  "pool-timeout": error(({ error }: Failure) => toJson(error)),
  // PostgREST's line ends with a space, which log parsers may match.
  "schema-cache-queried": notice(({ ms }: { ms: number }) =>
    `Schema cache queried in ${ms.toFixed(1)} milliseconds `
  ),
  "schema-cache-loaded": notice(({ counts, ms }: { counts: SchemaCacheCounts; ms: number }) => [
    `Schema cache loaded ${counts.relations} Relations, ` +
    `${counts.relationships} Relationships, ${counts.functions} RPCs, ` +
    `${counts.representations} Domain Representations, ` +
    `${counts.mediaHandlers} Media Type Handlers`,
    `Schema cache loaded in ${ms.toFixed(1)} milliseconds`,
  ]),
  "schema-cache-failed": failure((
    { schemas, extraSearchPath, error }: {
      schemas: readonly string[];
      extraSearchPath: readonly string[];
      error: ReportedError;
    },
  ) =>
    `Failed to load the schema cache using db-schemas=${redact(schemas.join(","))} and ` +
    `db-extra-search-path=${redact(extraSearchPath.join(","))}. ${toJson(error)}`
  ),
  "schema-missing": failure(({ filled }: { filled: readonly string[] }) =>
    "db-schemas names a schema that does not exist; " +
    (filled.length === 0
      ? "no schema has relations"
      : `schemas with relations: ${redact(filled.join(", "))}`)
  ),
  "schema-not-found": error(({ schema }: { schema: string }) =>
    `The schema ${redact(schema)} does not exist: requests do without it`
  ),
  "schema-cache-blocked": error(({ blocker }: { blocker: string }) =>
    `The schema cache cannot be loaded: ${redact(blocker)}`
  ),
  "schema-cache-timings": debug(({ timings }: { timings: readonly QueryTiming[] }) =>
    timings.map(({ name, ms }) => `${name}: ${ms.toFixed(1)} ms`).join(", ")
  ),
  /** `place` is `host:port`; for a Unix socket its directory replaces the host. */
  "listener-connected": notice((
    { version, place, channel }: { version: string; place: string; channel: string },
  ) =>
    `Listener connected to ${redact(version)} on "${redact(place)}" and listening for database ` +
    `notifications on the "${redact(channel)}" channel`
  ),
  "listener-failed": failure(({ channel, reason }: { channel: string; reason: string }) =>
    `Failed listening for database notifications on the "${redact(channel)}" channel. ` +
    redact(reason)
  ),
  "standby-included": notice(({ place }: { place: string }) =>
    `Standby ${redact(place)} executes reads`
  ),
  "standby-excluded": warning(({ place, reason }: { place: string; reason: string }) =>
    `WARNING: Standby ${redact(place)} executes no reads: ${redact(reason)}`
  ),
  /** A server of `db-replica-uri` belongs to another database cluster than the primary. */
  "standby-foreign": notice(({ place }: { place: string }) =>
    `db-replica-uri: ${redact(place)} is not a standby of db-uri: its system identifier differs`
  ),
  "notifications-lost": warning((
    { channel, effect }: { channel: string; effect: "polls" | "no reload" },
  ) =>
    `WARNING: Notifications on the "${redact(channel)}" channel do not arrive, ${effects[effect]}`
  ),
  "schema-changed": notice(() => "The schema has changed, reloading the schema cache"),
  "findings": warning(({ count }: { count: number }, call) =>
    `The database has ${count} finding${count === 1 ? "" : "s"}: ${callText(call, "check")}`
  ),
  "listener-retrying": warning(({ seconds }: { seconds: number }) =>
    `Retrying listening for database notifications in ${seconds} seconds...`
  ),
  "listener-cleanup-failed": warning(({ reason }: { reason: string }) =>
    `Failed during listener connection cleanup: ${redact(reason)}`
  ),
  "notification-queue-broken": warning(() =>
    "This is likely a PostgreSQL bug in the notification queue, executing the following to try to " +
    "solve it: SELECT pg_notification_queue_usage();"
  ),
  "reload-requested": notice(({ what, channel }: { what: "schema" | "config"; channel: string }) =>
    `Received a ${what === "schema" ? "schema cache" : "config"} reload message on the ` +
    `"${redact(channel)}" channel`
  ),
  "version-failed": failure(({ error }: Failure) =>
    `Failed to query the PostgreSQL version. ${toJson(error)}`
  ),
  "version-unsupported": failure(({ version, name }: { version: string; name: string }) =>
    `Cannot run in this PostgreSQL version (${redact(version)}), ${name} needs at least 14.0`
  ),
  "pooler-found": failure((
    { mode, error }: { mode: "transaction" | "statement"; error: ReportedError },
  ) => `${poolers[mode]}${toJson(error)}`),
  "statements-unnamed": warning(() =>
    "Prepared statements do not outlast a transaction, as behind poolers in transaction mode: " +
    "statements are unnamed from now on"
  ),
  "blocks-used": warning(() =>
    "WARNING: A pooler ends implicit transactions early: all transactions have BEGIN and COMMIT"
  ),
  "connections-exceeded": warning((
    { connections, maxConnections }: { connections: number; maxConnections: number },
  ) =>
    `WARNING: ${connections} connections may be opened (db-pool, and those to listen and to monitor), but the server ` +
    `permits ${maxConnections} in all: lower db-pool, or raise max_connections`
  ),
  "statement-refused": failure(({ error, name }: { error: ReportedError; name: string }) =>
    `This is probably a bug in ${name}, please report it. ${toJson(error)}`
  ),
  "pool-acquiring": debug(() => "Trying to borrow a connection from pool"),
  /** A transaction has ended. PostgREST logs the use of a connection at this moment. */
  "pool-acquired": debug(() => "Borrowed a connection from the pool"),
  "pool-flushed": debug(() => "Database connection pool flushed"),
  /** `step` is the connection's new state with its reason: `terminated: max idletime`. */
  "pool-connection": debug(({ id, step }: { id: string; step: string }) =>
    `Connection ${id} is ${step.replace(":", " due to")}`
  ),
  "jwt-cache-lookup": debug(() => "Looked up a JWT in JWT cache"),
  "jwt-cache-evicted": debug(() => "Evicted entry from JWT cache"),
  "jwks-failed": error(({ issuer, reason }: { issuer: string; reason: string }) =>
    `Failed to fetch the keys of ${redact(issuer)}: ${redact(reason)}`
  ),
  /** Keys of an issuer's set cannot be imported; `places` count from 1. */
  "jwks-keys-skipped": warn(({ issuer, places }: { issuer: string; places: readonly number[] }) =>
    `Skipped keys of ${redact(issuer)} that cannot be imported: number ${places.join(", ")}`
  ),
  "revocations-loaded": info(({ count }: { count: number }) =>
    `Loaded ${count} revocations of tokens`
  ),
  /** Retries until the next success are not reported. The old list stays. */
  "revocations-failed": error(({ error }: Failure) =>
    `Failed to load the revocations of tokens. ${toJson(error)}`
  ),
  /** Polls that fail after it are not reported until one succeeds. */
  "live-poll-failed": error(({ error }: Failure) =>
    `Failed to read the changes for live queries. ${toJson(error)}`
  ),
  "config-reloaded": notice(() => "Config reloaded"),
  "config-reload-failed": failure(({ message }: { message: string }) =>
    `Failed reloading config: Error in config ${redact(message)}`
  ),
  "declared-key-ignored": warning(({ problem }: { problem: string }) =>
    `Declared key ignored: ${redact(problem)}`
  ),
  "standbys-unused": warning(({ reason }: { reason: string }) =>
    `The primary executes all reads: ${reason}`
  ),
  "restart-needed": warning(({ key }: { key: string }) =>
    `${key} has changed: takes effect after a restart`
  ),
  "limits-unavailable": notice(({ keys }: { keys: readonly string[] }) =>
    `WARNING: ${keys.join(", ")} ${keys.length === 1 ? "has" : "have"} no effect: the server of ` +
    "this runtime has no such limits"
  ),
  "database-config-failed": failure((
    { what, error }: { what: "configuration" | "roles"; error: ReportedError },
  ) =>
    what === "roles"
      ? `Failed to query the role settings. ${toJson(error)}`
      : `Failed to query database settings for the config parameters.${toJson(error)}`
  ),
  /** `jwt-role-claim-key` uses the old syntax; `path` is its value as parsed. */
  "legacy-role-path": warning(({ path, guide }: { path: string; guide: string }) => [
    `WARNING: The config \`jwt-role-claim-key=${redact(path)}\` is using the deprecated JSPath ` +
    "syntax.",
    `Update \`jwt-role-claim-key=${redact(path)}\` to the new JSONPath syntax as support for ` +
    `JSPath will be removed in a future release. ${guide}`,
  ]),
  "embedded-starting": notice(({ folder }: { folder: string | null }) =>
    "Starting the embedded PostgreSQL " +
    (folder === null ? "in memory..." : `in ${redact(folder)}...`)
  ),
  "embedded-ready": notice(({ ms }: { ms: number }) =>
    `Embedded PostgreSQL ready after ${ms.toFixed(0)} milliseconds`
  ),
  "embedded-init-changed": warning(({ path, folder }: { path: string; folder: string }, call) =>
    `WARNING: ${redact(path)} has changed since ${redact(folder)} was made; it is applied once: ` +
    `delete the folder, or run ${redact(callText(call, `sql --file=${path}`))}`
  ),
  "agent-write": info(({ role, tool, method, target, status, rows }: {
    role: string;
    tool: string;
    method: string;
    target: string;
    status: number; /** Null if the write failed or returns no rows. */
    rows: number | null;
  }) =>
    `Agent as ${redact(role)}: ${redact(`${tool} ${method} ${target}`)} ${status}` +
    (rows === null ? "" : ` ${rows} rows`)
  ),
  /** Deprecated. `uses` holds pairs of target and alias. Reported before the request itself. */
  "target-names-used": warning((
    { uses, method, target }: { uses: readonly TargetNameUse[]; method: string; target: string },
  ) => [
    `WARNING: ${targetNameWarning}`,
    `Update filters, orders or limits that use ${redact(replacementsText(uses))} in ` +
    `\`${redact(`${method} ${target}`)}\``,
  ]),
  /** A request failed with a status ≥ 500, and the dialect logs that failure. */
  "request-failed": error(({ error }: Failure) => toJson(error)),
  /** A hint for the error of a request without a hint. */
  "error-advised": warn((
    { code, message, advice }: { code: string; message: string; advice: string },
  ) => `${code} ${redact(message)}. Hint: ${redact(advice)}`),
  "request-advised": warn(({ advice }: { advice: string }) => `Hint: ${redact(advice)}`),
  /** The body of a response that had begun ends early: the client receives an incomplete body. */
  "response-aborted": error((
    { method, target, error }: { method: string; target: string; error: ReportedError },
  ) => `Aborted the response to ${redact(`${method} ${target}`)}: ${toJson(error)}`),
  "unexpected-error": error(({ error }: { error: unknown }) =>
    `Unexpected error: ${redact(stackOf(error))}`
  ),
  "tenant-failed": failure(({ reason, retrySeconds }: { reason: string; retrySeconds: number }) =>
    `Cannot serve the tenant: ${
      redact(reason)
    }; the next attempt follows after ${retrySeconds} seconds`
  ),
  "tenant-loaded": info(({ ms }: { ms: number }) =>
    `Tenant loaded in ${ms.toFixed(1)} milliseconds`
  ),
  "tenant-closed": info(({ reason }: { reason: TenantEnd }) => `Tenant closed: ${reason}`),
  "terminating": notice(({ signal }: { signal: "SIGTERM" | "SIGINT" }) =>
    `Received termination unix signal ${signal}`
  ),
  "shutdown-waiting": notice(({ seconds }: { seconds: number }) =>
    `Not ready any more; requests are served for ${seconds} seconds, or until the next signal`
  ),
  "workers-limited": warning(({ workers, limit }: { workers: number; limit: WorkerLimit }) =>
    `server-workers is lowered to ${workers}: ${workerLimits[limit]}`
  ),
} as const;

/** Reasons why a process has fewer threads than its configuration requests. */
const workerLimits = {
  "db-pool": "each worker needs a connection of db-pool",
  "embedded": "an embedded database belongs to one thread",
  "system": "threads cannot share an address on this system",
  "tenants": "the services of tenants run in one thread",
  "unix-socket": "threads cannot share a Unix socket",
  "unstable-net": "Deno needs --unstable-net to let threads share an address",
} as const;

export type WorkerLimit = keyof typeof workerLimits;

/** Consequences of lost notifications, with advice. */
const effects = {
  "no reload": "so that they cause no reload. Poolers in transaction mode lose LISTEN: use a " +
    'db-channel-uri without one, db-schema-watch = "auto", or db-channel-enabled = false.',
  "polls": "so that the schema is polled. Poolers in transaction mode lose LISTEN: use a " +
    "db-channel-uri without one to reload the configuration by notifications.",
} as const;

/** Advice for poolers that switch connections between statements or transactions. */
const poolers = {
  transaction: "If you are using connection poolers in transaction mode, try setting " +
    "db-prepared-statements to false. ",
  statement: "Connection poolers in statement mode are not supported. ",
} as const;

/** Returns whether `level` logs events of `severity`. */
export function isLogged(severity: LogLevel, level: LogLevel): boolean {
  return logLevels.indexOf(severity) <= logLevels.indexOf(level);
}

/** Returns whether the diagnostic log has a line for events of this kind. */
export function isDiagnostic(event: Observation): event is Diagnostic {
  return Object.hasOwn(diagnostics, event.kind);
}

/** Returns the lines of an event, without their time. */
export function linesOf(event: Diagnostic, call: CallWords): readonly string[] {
  const text = diagnostics[event.kind].text as DiagnosticRow<Diagnostic>["text"];
  return [text(event, call)].flat();
}

function toJson({ code, details, hint, message }: ReportedError): string {
  const hide = (_: string, value: unknown) => (typeof value === "string" ? redact(value) : value);
  return JSON.stringify({ code, details, hint, message }, hide);
}

/** Returns the stack of a thrown value. Objects other than errors may not convert to a string. */
function stackOf(error: unknown): string {
  if (error instanceof Error) return error.stack ?? error.message;
  return typeof error === "object" ? "a thrown object that is not an error" : String(error);
}
