/** Diagnostic events of the database: connections, the pool, the listener, standbys. @module */
import { callText } from "./call_words.ts";
import {
  debug,
  error,
  failure,
  notice,
  type ReportedError,
  toJson,
  warning,
  withError,
} from "./diagnostic_row.ts";
import { redact } from "../lib/redact.ts";

/** Severity and text of each event. */
export const databaseDiagnostics = {
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
  "connect-failed": failure(withError("Failed to establish a connection. ")),
  "connection-lost": error(withError("")),
  "retrying": warning(({ seconds }: { seconds: number }) =>
    `Attempting to reconnect to the database in ${seconds} seconds...`
  ),
  "recovery-disabled": failure(() => "Automatic recovery disabled, exiting."),
  "pool-ready": notice(({ max }: { max: number }) =>
    `Connection Pool initialized with a maximum size of ${max} connections`
  ),
  "pool-timeout": error(withError("")),
  /** `place` is `host:port`. For a Unix socket, the host is the folder of the socket. */
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
  "version-failed": failure(withError("Failed to query the PostgreSQL version. ")),
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
  /** Sent when a transaction ends, not when it gets its connection, because PostgREST does so. */
  "pool-acquired": debug(() => "Borrowed a connection from the pool"),
  "pool-flushed": debug(() => "Database connection pool flushed"),
  /** `step` is the connection's new state with its reason: `terminated: max idletime`. */
  "pool-connection": debug(({ id, step }: { id: string; step: string }) =>
    `Connection ${id} is ${step.replace(":", " due to")}`
  ),
  "standbys-unused": warning(({ reason }: { reason: string }) =>
    `The primary executes all reads: ${reason}`
  ),
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
} as const;

/** Effects of lost notifications, with advice. */
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
