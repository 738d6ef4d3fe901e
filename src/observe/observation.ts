/** The events that the service reports, as one union, and the severity of each. @module */

import type { ShedReason } from "../errors/service_error.ts";
import type { TargetNameUse } from "../errors/target_name_warning.ts";

/** Log levels, from the one that logs least to the one that logs most. */
export const logLevels = ["crit", "error", "warn", "info", "debug"] as const;

export type LogLevel = typeof logLevels[number];

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
}

/** Statements of a request, without values. Observers receive it before the `request-finished` event. */
export interface QueriedRequest {
  readonly kind: "request-queried";
  readonly status: number;
  /** SQL with `$1` …, one text per statement. */
  readonly texts: readonly string[];
}

/** A write that an agent has requested by a tool. */
export interface AgentWrite {
  readonly kind: "agent-write";
  readonly role: string;
  readonly tool: string;
  readonly method: string;
  /** Path and query string of the API. */
  readonly target: string;
  readonly status: number;
  /** Null if the write failed or returns no rows. */
  readonly rows: number | null;
}

/** Why a tenant is no longer loaded. */
export type TenantEnd =
  | "idle"
  | "least recently used"
  | "changed"
  | "removed"
  | "failed"
  | "shutdown";

/** Reasons why a process has fewer threads that serve than its configuration says. */
export type WorkerLimit =
  | "db-pool"
  | "embedded"
  | "system"
  | "tenants"
  | "unix-socket"
  | "unstable-net";

/** An event that only metrics count. */
type CountedEvent =
  /** A limit refused a request under overload. */
  | { readonly kind: "request-shed"; readonly reason: ShedReason }
  /** A client has connected. Reported only where limits of connections are set. */
  | { readonly kind: "connection-opened" }
  | { readonly kind: "connection-closed"; readonly reason: ConnectionEnd };

/**
 * Why a connection of a client ended: the client or a shutdown ended it, a header or a body did not arrive,
 * no request came, or `server-max-connections` needed its place.
 */
export type ConnectionEnd = "client" | "header" | "body" | "idle" | "limit";

const countedKinds: Readonly<Record<CountedEvent["kind"], true>> = {
  "request-shed": true,
  "connection-opened": true,
  "connection-closed": true,
};

/**
 * An event. No event contains a token, a secret or a connection string. `tenant` is the name of the
 * tenant that it is about, if the process serves several.
 */
export type Observation = ServiceEvent & { readonly tenant?: string | null };

type ServiceEvent =
  /** `name` is the name of the service in its dialect. */
  | { readonly kind: "starting"; readonly name: string; readonly version: string }
  | {
    readonly kind: "listening";
    readonly what: "api" | "admin";
    /** `127.0.0.1:3000`, `[::1]:3000` or a socket's path. */
    readonly address: string;
  }
  /** `attempt` counts from 1. */
  | { readonly kind: "connecting"; readonly attempt: number }
  /** `version` is the result of PostgreSQL's `version()`. */
  | { readonly kind: "connected"; readonly version: string }
  /** The first connection over a network is open. */
  | { readonly kind: "connections-encrypted"; readonly isEncrypted: boolean }
  /** The database has not answered a question for a second. */
  | { readonly kind: "database-silent" }
  /** The database answers again, after this time. */
  | { readonly kind: "database-answers"; readonly ms: number }
  | { readonly kind: "connect-failed"; readonly error: ReportedError }
  | { readonly kind: "connection-lost"; readonly error: ReportedError }
  | { readonly kind: "retrying"; readonly seconds: number }
  | { readonly kind: "recovery-disabled" }
  | { readonly kind: "pool-ready"; readonly max: number }
  | { readonly kind: "pool-timeout"; readonly error: ReportedError }
  | { readonly kind: "schema-cache-queried"; readonly ms: number }
  | {
    readonly kind: "schema-cache-loaded";
    readonly counts: SchemaCacheCounts;
    readonly ms: number;
  }
  /** A declared key has no effect. `problem` begins with the place of its declaration. */
  | { readonly kind: "declared-key-ignored"; readonly problem: string }
  | {
    readonly kind: "schema-cache-failed";
    readonly schemas: readonly string[];
    readonly extraSearchPath: readonly string[];
    readonly error: ReportedError;
  }
  /** Time of each query of the load on the server, by the query's name. */
  | { readonly kind: "schema-cache-timings"; readonly timings: readonly QueryTiming[] }
  /** `place` is `host:port`; for a Unix socket its directory replaces the host. */
  | {
    readonly kind: "listener-connected";
    readonly version: string;
    readonly place: string;
    readonly channel: string;
  }
  | { readonly kind: "listener-failed"; readonly channel: string; readonly reason: string }
  /** A standby executes reads from now on. `place` is `host:port`. */
  | { readonly kind: "standby-included"; readonly place: string }
  /** A standby executes no reads from now on. */
  | { readonly kind: "standby-excluded"; readonly place: string; readonly reason: string }
  /** A server of `db-replica-uri` belongs to another database cluster than the primary. */
  | { readonly kind: "standby-foreign"; readonly place: string }
  /** No read can go to a standby. */
  | { readonly kind: "standbys-unused"; readonly reason: string }
  /** The server has accepted LISTEN, but notifications do not arrive. */
  | {
    readonly kind: "notifications-lost";
    readonly channel: string;
    /** Whether the service polls instead. */
    readonly effect: "polls" | "no reload";
  }
  /** The server has no LISTEN. */
  | {
    readonly kind: "notifications-unsupported";
    readonly channel: string;
    readonly reason: string;
    /** Whether the service polls instead. */
    readonly effect: "polls" | "no reload";
  }
  /** Polling has found a change of the schema, which causes a reload. */
  | { readonly kind: "schema-changed" }
  /** The diagnosis has found problems. */
  | { readonly kind: "findings"; readonly count: number }
  | { readonly kind: "listener-retrying"; readonly seconds: number }
  | { readonly kind: "listener-cleanup-failed"; readonly reason: string }
  | { readonly kind: "notification-queue-broken" }
  /** A notification requested a reload. */
  | {
    readonly kind: "reload-requested";
    readonly what: "schema" | "config";
    readonly channel: string;
  }
  | { readonly kind: "version-failed"; readonly error: ReportedError }
  /** `name` is the name of the service in its dialect. */
  | { readonly kind: "version-unsupported"; readonly version: string; readonly name: string }
  | {
    readonly kind: "pooler-found";
    readonly mode: "transaction" | "statement";
    readonly error: ReportedError;
  }
  /** A pooler loses prepared statements, so that statements are unnamed from now on. */
  | { readonly kind: "statements-unnamed" }
  /** A pooler ends implicit transactions early, so that all transactions have BEGIN and COMMIT. */
  | { readonly kind: "blocks-used" }
  /** The server permits too few connections for those that the service may open. */
  | {
    readonly kind: "connections-exceeded";
    readonly connections: number;
    readonly maxConnections: number;
  }
  /** A schema of `db-schemas` does not exist; `filled` are the schemas with relations. */
  | { readonly kind: "schema-missing"; readonly filled: readonly string[] }
  /** PostgreSQL cannot parse one of the service's own statements. */
  | {
    readonly kind: "statement-refused";
    readonly error: ReportedError;
    readonly name: string;
  }
  | { readonly kind: "pool-acquiring" }
  /** A batch has ended; PostgREST logs the use of a connection then. */
  | { readonly kind: "pool-acquired" }
  | { readonly kind: "pool-flushed" }
  /** `step` is the connection's new state with its reason: `terminated: max idletime`. */
  | { readonly kind: "pool-connection"; readonly id: string; readonly step: string }
  | { readonly kind: "jwt-cache-lookup" }
  | { readonly kind: "jwt-cache-evicted" }
  /** The keys of an issuer cannot be fetched. Retries until the next success are not reported. */
  | { readonly kind: "jwks-failed"; readonly issuer: string; readonly reason: string }
  /** Keys of an issuer's set cannot be imported; `places` count from 1. */
  | {
    readonly kind: "jwks-keys-skipped";
    readonly issuer: string;
    readonly places: readonly number[];
  }
  | { readonly kind: "revocations-loaded"; readonly count: number }
  /** Retries until the next success are not reported. The old list stays. */
  | { readonly kind: "revocations-failed"; readonly error: ReportedError }
  | { readonly kind: "config-reloaded" }
  /** `message` is that of a `ConfigError`. */
  | { readonly kind: "config-reload-failed"; readonly message: string }
  /** The value of an option that is not reloadable differs from the value at the start. */
  | { readonly kind: "restart-needed"; readonly key: string }
  /** Options whose limits the runtime's server does not offer. */
  | { readonly kind: "limits-unavailable"; readonly keys: readonly string[] }
  /** The service cannot read the configuration or the role settings in the database. */
  | {
    readonly kind: "database-config-failed";
    readonly what: "configuration" | "roles";
    readonly error: ReportedError;
  }
  /** `jwt-role-claim-key` uses the old syntax; `path` is its value as parsed. */
  | { readonly kind: "legacy-role-path"; readonly path: string }
  | { readonly kind: "embedded-starting"; readonly folder: string | null }
  | { readonly kind: "embedded-initializing"; readonly path: string }
  /** A new database in memory failed, so the previous one stays. */
  | { readonly kind: "embedded-remake-failed"; readonly reason: string }
  | { readonly kind: "embedded-ready"; readonly ms: number }
  /** The SQL of `db-embedded-init` differs from the text that was applied. */
  | {
    readonly kind: "embedded-init-changed";
    readonly path: string;
    readonly folder: string;
  }
  | AgentWrite
  | FinishedRequest
  | QueriedRequest
  | CountedEvent
  /**
   * A request addressed aliased embeds by their targets' names, which is deprecated. `uses` holds
   * pairs of target and alias. The event is reported before the request itself.
   */
  | {
    readonly kind: "target-names-used";
    readonly uses: readonly TargetNameUse[];
    readonly method: string;
    /** Path and query string. */
    readonly target: string;
  }
  /** A request failed with a status ≥ 500, and the dialect logs that failure. */
  | { readonly kind: "request-failed"; readonly error: ReportedError }
  /** A hint for the error of a request, whose own hint is null. */
  | {
    readonly kind: "error-advised";
    readonly code: string;
    readonly message: string;
    readonly advice: string;
  }
  /** A request succeeds without a part that has no effect. */
  | { readonly kind: "request-advised"; readonly advice: string }
  /** The body of a response that had begun ends early: the client receives an incomplete body. */
  | {
    readonly kind: "response-aborted";
    readonly method: string;
    /** Path and query string. */
    readonly target: string;
    readonly error: ReportedError;
  }
  /** A bug. `error` is the thrown value. */
  | { readonly kind: "unexpected-error"; readonly error: unknown }
  /** A tenant's configuration or database cannot be used. */
  | { readonly kind: "tenant-failed"; readonly reason: string; readonly retrySeconds: number }
  | { readonly kind: "tenant-loaded"; readonly ms: number }
  | { readonly kind: "tenant-closed"; readonly reason: TenantEnd }
  | { readonly kind: "terminating"; readonly signal: "SIGTERM" | "SIGINT" }
  /** The service is served on for this time; it says that it is not ready. */
  | { readonly kind: "shutdown-waiting"; readonly seconds: number }
  /** Fewer threads serve than `server-workers` says. */
  | { readonly kind: "workers-limited"; readonly workers: number; readonly limit: WorkerLimit }
  /** A thread that serves has ended; another one starts after the seconds. */
  | {
    readonly kind: "worker-failed";
    /** From 1. */
    readonly worker: number;
    /** Null if the log has it already. */
    readonly reason: string | null;
    /** Null if none starts, since the process stops. */
    readonly seconds: number | null;
  };

/** Events of the diagnostic log. Finished requests go to the access log, and some only to metrics. */
export type Diagnostic = Exclude<Observation, FinishedRequest | QueriedRequest | CountedEvent>;

/** Returns whether only metrics count an event. */
export function isCounted(event: Observation): event is CountedEvent {
  return Object.hasOwn(countedKinds, event.kind);
}

/** The least verbose log level that includes each event. */
export const severities: Readonly<Record<Diagnostic["kind"], LogLevel>> = {
  "starting": "crit",
  "listening": "crit",
  "connecting": "debug",
  "connected": "crit",
  "connections-encrypted": "crit",
  "database-silent": "crit",
  "database-answers": "crit",
  "connect-failed": "crit",
  "connection-lost": "error",
  "retrying": "crit",
  "recovery-disabled": "crit",
  "pool-ready": "crit",
  "pool-timeout": "error",
  "schema-cache-queried": "crit",
  "schema-cache-loaded": "crit",
  "declared-key-ignored": "crit",
  "schema-cache-failed": "crit",
  "schema-cache-timings": "debug",
  "listener-connected": "crit",
  "listener-failed": "crit",
  "standby-included": "crit",
  "standby-excluded": "crit",
  "standby-foreign": "crit",
  "standbys-unused": "crit",
  "notifications-lost": "crit",
  "notifications-unsupported": "crit",
  "schema-changed": "crit",
  "findings": "crit",
  "listener-retrying": "crit",
  "listener-cleanup-failed": "crit",
  "notification-queue-broken": "crit",
  "reload-requested": "crit",
  "version-failed": "crit",
  "version-unsupported": "crit",
  "pooler-found": "crit",
  "statements-unnamed": "crit",
  "blocks-used": "crit",
  "connections-exceeded": "crit",
  "schema-missing": "crit",
  "statement-refused": "crit",
  "pool-acquiring": "debug",
  "pool-acquired": "debug",
  "pool-flushed": "debug",
  "pool-connection": "debug",
  "jwt-cache-lookup": "debug",
  "jwt-cache-evicted": "debug",
  "jwks-failed": "error",
  "jwks-keys-skipped": "warn",
  "revocations-loaded": "info",
  "revocations-failed": "error",
  "config-reloaded": "crit",
  "config-reload-failed": "crit",
  "restart-needed": "crit",
  "limits-unavailable": "crit",
  "database-config-failed": "crit",
  "legacy-role-path": "crit",
  "embedded-starting": "crit",
  "embedded-initializing": "crit",
  "embedded-remake-failed": "crit",
  "embedded-ready": "crit",
  "embedded-init-changed": "crit",
  "agent-write": "info",
  "target-names-used": "crit",
  "request-failed": "error",
  "error-advised": "warn",
  "request-advised": "warn",
  "response-aborted": "error",
  "unexpected-error": "error",
  "tenant-failed": "crit",
  "tenant-loaded": "info",
  "tenant-closed": "info",
  "terminating": "crit",
  "shutdown-waiting": "crit",
  "workers-limited": "crit",
  "worker-failed": "crit",
};

/** Returns whether `level` logs events of `severity`. */
export function isLogged(severity: LogLevel, level: LogLevel): boolean {
  return logLevels.indexOf(severity) <= logLevels.indexOf(level);
}
