/** Formats events of the service as lines of the diagnostic log. @module */
import {
  type Diagnostic,
  isLogged,
  type LogLevel,
  type ReportedError,
  severities,
} from "./observation.ts";
import { replacementsText, targetNameWarning } from "../errors/target_name_warning.ts";
import { callText, type CallWords } from "./call_words.ts";
import { redact } from "./redact.ts";
import { formatTimestamp, type LocalTime } from "./timestamp.ts";

/** Text of each event; an array if it has several lines. */
const texts: {
  readonly [Kind in Diagnostic["kind"]]: (
    event: Extract<Diagnostic, { readonly kind: Kind }>,
    call: CallWords,
  ) => string | readonly string[];
} = {
  "starting": ({ name, version }) => `Starting ${name} ${version}...`,
  "listening": ({ what, address }) =>
    `${what === "api" ? "API" : "Admin"} server listening on ${redact(address)}`,
  "connecting": ({ attempt }) =>
    `Attempting to connect to the database${attempt > 1 ? ` (attempt ${attempt})` : ""}...`,
  "connected": ({ version }) => `Successfully connected to ${redact(version)}`,
  "connections-encrypted": ({ isEncrypted }) =>
    `Connections to the database are ${isEncrypted ? "encrypted" : "not encrypted"}`,
  "database-silent": () => "WARNING: The database has not answered for 1 second",
  "database-answers": ({ ms }) =>
    `The database answers again, after ${(ms / 1000).toFixed(1)} seconds`,
  "connect-failed": ({ error }) => `Failed to establish a connection. ${toJson(error)}`,
  "connection-lost": ({ error }) => toJson(error),
  "retrying": ({ seconds }) => `Attempting to reconnect to the database in ${seconds} seconds...`,
  "recovery-disabled": () => "Automatic recovery disabled, exiting.",
  "pool-ready": ({ max }) =>
    `Connection Pool initialized with a maximum size of ${max} connections`,
  "pool-timeout": ({ error }) => toJson(error),
  // PostgREST's line ends with a space, which log parsers may match.
  "schema-cache-queried": ({ ms }) => `Schema cache queried in ${ms.toFixed(1)} milliseconds `,
  "schema-cache-loaded": ({ counts, ms }) => [
    `Schema cache loaded ${counts.relations} Relations, ` +
    `${counts.relationships} Relationships, ${counts.functions} RPCs, ` +
    `${counts.representations} Domain Representations, ` +
    `${counts.mediaHandlers} Media Type Handlers`,
    `Schema cache loaded in ${ms.toFixed(1)} milliseconds`,
  ],
  "schema-cache-failed": ({ schemas, extraSearchPath, error }) =>
    `Failed to load the schema cache using db-schemas=${redact(schemas.join(","))} and ` +
    `db-extra-search-path=${redact(extraSearchPath.join(","))}. ${toJson(error)}`,
  "schema-missing": ({ filled }) =>
    "db-schemas names a schema that does not exist; " +
    (filled.length === 0
      ? "no schema has relations"
      : `schemas with relations: ${redact(filled.join(", "))}`),
  "schema-cache-timings": ({ timings }) =>
    timings.map(({ name, ms }) => `${name}: ${ms.toFixed(1)} ms`).join(", "),
  "listener-connected": ({ version, place, channel }) =>
    `Listener connected to ${redact(version)} on "${redact(place)}" and listening for database ` +
    `notifications on the "${redact(channel)}" channel`,
  "listener-failed": ({ channel, reason }) =>
    `Failed listening for database notifications on the "${redact(channel)}" channel. ` +
    redact(reason),
  "standby-included": ({ place }) => `Standby ${redact(place)} executes reads`,
  "standby-excluded": ({ place, reason }) =>
    `WARNING: Standby ${redact(place)} executes no reads: ${redact(reason)}`,
  "standby-foreign": ({ place }) =>
    `db-replica-uri: ${redact(place)} is not a standby of db-uri: its system identifier differs`,
  "notifications-lost": ({ channel, effect }) =>
    `WARNING: Notifications on the "${redact(channel)}" channel do not arrive, ${effects[effect]}`,
  "notifications-unsupported": ({ channel, reason, effect }) =>
    `WARNING: The server has no LISTEN (${redact(reason)}), so that ` +
    (effect === "polls"
      ? "the schema is polled"
      : `notifications on the "${
        redact(channel)
      }" channel cause no reload: set db-schema-watch = "auto"`),
  "schema-changed": () => "The schema has changed, reloading the schema cache",
  "findings": ({ count }, call) =>
    `The database has ${count} finding${count === 1 ? "" : "s"}: ${callText(call, "check")}`,
  "listener-retrying": ({ seconds }) =>
    `Retrying listening for database notifications in ${seconds} seconds...`,
  "listener-cleanup-failed": ({ reason }) =>
    `Failed during listener connection cleanup: ${redact(reason)}`,
  "notification-queue-broken": () =>
    "This is likely a PostgreSQL bug in the notification queue, executing the following to try to " +
    "solve it: SELECT pg_notification_queue_usage();",
  "reload-requested": ({ what, channel }) =>
    `Received a ${what === "schema" ? "schema cache" : "config"} reload message on the ` +
    `"${redact(channel)}" channel`,
  "version-failed": ({ error }) => `Failed to query the PostgreSQL version. ${toJson(error)}`,
  "version-unsupported": ({ version, name }) =>
    `Cannot run in this PostgreSQL version (${redact(version)}), ${name} needs at least 14.0`,
  "pooler-found": ({ mode, error }) => `${poolers[mode]}${toJson(error)}`,
  "statements-unnamed": () =>
    "Prepared statements do not outlast a transaction, as behind poolers in transaction mode: " +
    "statements are unnamed from now on",
  "blocks-used": () =>
    "WARNING: A pooler ends implicit transactions early: all transactions have BEGIN and COMMIT",
  "connections-exceeded": ({ connections, maxConnections }) =>
    `WARNING: ${connections} connections may be opened (db-pool, and those to listen and to monitor), but the server ` +
    `permits ${maxConnections} in all: lower db-pool, or raise max_connections`,
  "statement-refused": ({ error, name }) =>
    `This is probably a bug in ${name}, please report it. ${toJson(error)}`,
  "pool-acquiring": () => "Trying to borrow a connection from pool",
  "pool-acquired": () => "Borrowed a connection from the pool",
  "pool-flushed": () => "Database connection pool flushed",
  "pool-connection": ({ id, step }) => `Connection ${id} is ${step.replace(":", " due to")}`,
  "jwt-cache-lookup": () => "Looked up a JWT in JWT cache",
  "jwt-cache-evicted": () => "Evicted entry from JWT cache",
  "jwks-failed": ({ issuer, reason }) =>
    `Failed to fetch the keys of ${redact(issuer)}: ${redact(reason)}`,
  "jwks-keys-skipped": ({ issuer, places }) =>
    `Skipped keys of ${redact(issuer)} that cannot be imported: number ${places.join(", ")}`,
  "revocations-loaded": ({ count }) => `Loaded ${count} revocations of tokens`,
  "revocations-failed": ({ error }) => `Failed to load the revocations of tokens. ${toJson(error)}`,
  "config-reloaded": () => "Config reloaded",
  "config-reload-failed": ({ message }) =>
    `Failed reloading config: Error in config ${redact(message)}`,
  "declared-key-ignored": ({ problem }) => `Declared key ignored: ${redact(problem)}`,
  "standbys-unused": ({ reason }) => `The primary executes all reads: ${reason}`,
  "restart-needed": ({ key }) => `${key} has changed: takes effect after a restart`,
  "limits-unavailable": ({ keys }) =>
    `WARNING: ${keys.join(", ")} ${keys.length === 1 ? "has" : "have"} no effect: the server of ` +
    "this runtime has no such limits",
  "database-config-failed": ({ what, error }) =>
    what === "roles"
      ? `Failed to query the role settings. ${toJson(error)}`
      : `Failed to query database settings for the config parameters.${toJson(error)}`,
  "legacy-role-path": ({ path }) => [
    `WARNING: The config \`jwt-role-claim-key=${redact(path)}\` is using the deprecated JSPath ` +
    "syntax.",
    `Update \`jwt-role-claim-key=${redact(path)}\` to the new JSONPath syntax as support for ` +
    'JSPath will be removed in a future release. `.a.b` is written `$.a.b`, `."a b"` is written ' +
    '`$["a b"]`.',
  ],
  "embedded-starting": ({ folder }) =>
    "Starting the embedded PostgreSQL " +
    (folder === null ? "in memory..." : `in ${redact(folder)}...`),
  "embedded-initializing": ({ path }) => `Applying ${redact(path)} to the new database...`,
  "embedded-remake-failed": ({ reason }) =>
    `Failed to make the database anew, the previous one stays: ${redact(reason)}`,
  "embedded-ready": ({ ms }) => `Embedded PostgreSQL ready after ${ms.toFixed(0)} milliseconds`,
  "embedded-init-changed": ({ path, folder }, call) =>
    `WARNING: ${redact(path)} has changed since ${redact(folder)} was made; it is applied once: ` +
    `delete the folder, or run ${redact(callText(call, `sql --file=${path}`))}`,
  "agent-write": ({ role, tool, method, target, status, rows }) =>
    `Agent as ${redact(role)}: ${redact(`${tool} ${method} ${target}`)} ${status}` +
    (rows === null ? "" : ` ${rows} rows`),
  "target-names-used": ({ uses, method, target }) => [
    `WARNING: ${targetNameWarning}`,
    `Update filters, orders or limits that use ${redact(replacementsText(uses))} in ` +
    `\`${redact(`${method} ${target}`)}\``,
  ],
  "request-failed": ({ error }) => toJson(error),
  "error-advised": ({ code, message, advice }) =>
    `${code} ${redact(message)}. Hint: ${redact(advice)}`,
  "request-advised": ({ advice }) => `Hint: ${redact(advice)}`,
  "response-aborted": ({ method, target, error }) =>
    `Aborted the response to ${redact(`${method} ${target}`)}: ${toJson(error)}`,
  "unexpected-error": ({ error }) => `Unexpected error: ${redact(stackOf(error))}`,
  "tenant-failed": ({ reason, retrySeconds }) =>
    `Cannot serve the tenant: ${
      redact(reason)
    }; the next attempt follows after ${retrySeconds} seconds`,
  "tenant-loaded": ({ ms }) => `Tenant loaded in ${ms.toFixed(1)} milliseconds`,
  "tenant-closed": ({ reason }) => `Tenant closed: ${reason}`,
  "terminating": ({ signal }) => `Received termination unix signal ${signal}`,
  "shutdown-waiting": ({ seconds }) =>
    `Not ready any more; requests are served for ${seconds} seconds, or until the next signal`,
  "workers-limited": ({ workers, limit }) =>
    `server-workers is lowered to ${workers}: ${workerLimits[limit]}`,
  "worker-failed": ({ worker, reason, seconds }) =>
    `Worker ${worker} has failed${reason === null ? "" : `: ${redact(reason)}`}.` +
    (seconds === null ? "" : ` Another one starts in ${seconds} seconds...`),
};

/** Reasons for fewer workers. */
const workerLimits = {
  "db-pool": "each worker needs a connection of db-pool",
  "embedded": "an embedded database belongs to one thread",
  "system": "threads cannot share an address on this system",
  "tenants": "the services of tenants run in one thread",
  "unix-socket": "threads cannot share a Unix socket",
  "unstable-net": "Deno needs --unstable-net to let threads share an address",
} as const;

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

/** Time and level of a line, and the calls that it advises. */
interface LogContext extends LocalTime {
  readonly level: LogLevel;
  readonly call: CallWords;
}

/**
 * Returns the line of an event without its line feed: `dd/Mon/yyyy:HH:MM:SS ±zzzz: text`. An event
 * with several texts has several lines. Returns null if the level does not log the event.
 */
export function diagnosticLine(event: Diagnostic, context: LogContext): string | null {
  if (!isLogged(severities[event.kind], context.level)) return null;
  const prefix = formatTimestamp(context);
  const text = textOf(event, context.call);
  const lines = typeof text === "string" ? [text] : text;
  const subject = event.tenant ? `tenant ${event.tenant}: ` : "";
  return lines.map((line) => `${prefix}: ${subject}${line}`).join("\n");
}

/** Returns the text of an event on one line, without its time. */
export function messageOf(event: Diagnostic, call: CallWords): string {
  const text = textOf(event, call);
  return (typeof text === "string" ? text : text.join(" ")).trimEnd();
}

function textOf<Kind extends Diagnostic["kind"]>(
  event: Extract<Diagnostic, { readonly kind: Kind }>,
  call: CallWords,
): string | readonly string[] {
  return texts[event.kind as Kind](event, call);
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
