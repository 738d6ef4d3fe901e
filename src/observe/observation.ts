/**
 * What can be reported: one union of events, and the severity of each.
 *
 * @module
 */

import type { TargetNameUse } from "../errors/target_name_warning.ts";

/** From the least to the most that is logged. */
export const logLevels = ["crit", "error", "warn", "info", "debug"] as const;

export type LogLevel = typeof logLevels[number];

/** An error as the client is told of it, in full. */
export interface ReportedError {
  readonly code: string;
  readonly message: string;
  readonly details: string | readonly Readonly<Record<string, string>>[] | null;
  readonly hint: string | null;
}

/** How much of each kind the schema cache holds. */
export interface SchemaCacheCounts {
  readonly relations: number;
  readonly relationships: number;
  readonly functions: number;
  readonly representations: number;
  readonly mediaHandlers: number;
}

/** How long one query of a load took on the server. */
export interface QueryTiming {
  readonly name: string;
  readonly ms: number;
}

/** A request that was answered. Texts are as the client sent them. */
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
  /** When it arrived, in milliseconds since 1970, UTC. */
  readonly time: number;
}

/** What a request asked of the database, told before the request itself; the values are not. */
export interface QueriedRequest {
  readonly kind: "request-queried";
  readonly status: number;
  /** SQL with `$1` …, one text per statement. */
  readonly texts: readonly string[];
}

/** Everything that can be reported. No event carries a token, a secret or a connection string. */
export type Observation =
  /** `name` is what the service is called in the dialect that it speaks. */
  | { readonly kind: "starting"; readonly name: string; readonly version: string }
  | {
    readonly kind: "listening";
    readonly what: "api" | "admin";
    /** `127.0.0.1:3000`, `[::1]:3000` or a socket's path. */
    readonly address: string;
  }
  /** `attempt` counts from 1. */
  | { readonly kind: "connecting"; readonly attempt: number }
  /** `version` is what the database's `version()` says. */
  | { readonly kind: "connected"; readonly version: string }
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
  | {
    readonly kind: "schema-cache-failed";
    readonly schemas: readonly string[];
    readonly extraSearchPath: readonly string[];
    readonly error: ReportedError;
  }
  /** How long each query of the load took on the server; times in milliseconds, by what it reads. */
  | { readonly kind: "schema-cache-timings"; readonly timings: readonly QueryTiming[] }
  /** `place` is a host with its port. */
  | {
    readonly kind: "listener-connected";
    readonly version: string;
    readonly place: string;
    readonly channel: string;
  }
  | { readonly kind: "listener-failed"; readonly channel: string; readonly reason: string }
  /** The server has accepted LISTEN, and notifications do not arrive. */
  | { readonly kind: "notifications-lost"; readonly channel: string }
  | { readonly kind: "listener-retrying"; readonly seconds: number }
  | { readonly kind: "listener-cleanup-failed"; readonly reason: string }
  | { readonly kind: "notification-queue-broken" }
  /** A notification came. */
  | {
    readonly kind: "reload-requested";
    readonly what: "schema" | "config";
    readonly channel: string;
  }
  | { readonly kind: "version-failed"; readonly error: ReportedError }
  /** `name` is what the service is called. */
  | { readonly kind: "version-unsupported"; readonly version: string; readonly name: string }
  | {
    readonly kind: "pooler-found";
    readonly mode: "transaction" | "statement";
    readonly error: ReportedError;
  }
  /** A statement of the service's own is no SQL. */
  | {
    readonly kind: "statement-refused";
    readonly error: ReportedError;
    readonly name: string;
  }
  | { readonly kind: "pool-acquiring" }
  | { readonly kind: "pool-acquired" }
  | { readonly kind: "pool-flushed" }
  /** `step` is what happens to the connection: `terminated: max idletime`. */
  | { readonly kind: "pool-connection"; readonly id: string; readonly step: string }
  | { readonly kind: "jwt-cache-lookup" }
  | { readonly kind: "jwt-cache-evicted" }
  | { readonly kind: "config-reloaded" }
  /** `message` is that of a `ConfigError`. */
  | { readonly kind: "config-reload-failed"; readonly message: string }
  /** An option that is not reloadable has another value than at the start. */
  | { readonly kind: "restart-needed"; readonly key: string }
  /** The database could not be asked for what it says of the configuration or of the roles. */
  | {
    readonly kind: "database-config-failed";
    readonly what: "configuration" | "roles";
    readonly error: ReportedError;
  }
  /** `jwt-role-claim-key` is in the old syntax; `path` is how it is understood. */
  | { readonly kind: "old-role-path"; readonly path: string }
  | { readonly kind: "embedded-starting"; readonly folder: string | null }
  | { readonly kind: "embedded-initializing"; readonly path: string }
  | { readonly kind: "embedded-ready"; readonly ms: number }
  | FinishedRequest
  | QueriedRequest
  /**
   * A request addressed aliased embeds by their targets' names, which is deprecated; pairs of target
   * and alias. Told before the request itself.
   */
  | {
    readonly kind: "target-names-used";
    readonly uses: readonly TargetNameUse[];
    readonly method: string;
    /** Path and query string. */
    readonly target: string;
  }
  /** A request that a failure of the database or of the connection ended with a status ≥ 500. */
  | { readonly kind: "request-failed"; readonly error: ReportedError }
  /** A bug: what was thrown. */
  | { readonly kind: "unexpected-error"; readonly error: unknown }
  | { readonly kind: "terminating"; readonly signal: "SIGTERM" | "SIGINT" };

export type ObservationKind = Observation["kind"];

/** Events about the service itself; requests have a log of their own. */
export type Diagnostic = Exclude<Observation, FinishedRequest | QueriedRequest>;

/** The lowest level that logs each event. */
export const severities: Readonly<Record<Diagnostic["kind"], LogLevel>> = {
  "starting": "crit",
  "listening": "crit",
  "connecting": "debug",
  "connected": "crit",
  "connect-failed": "crit",
  "connection-lost": "error",
  "retrying": "crit",
  "recovery-disabled": "crit",
  "pool-ready": "crit",
  "pool-timeout": "error",
  "schema-cache-queried": "crit",
  "schema-cache-loaded": "crit",
  "schema-cache-failed": "crit",
  "schema-cache-timings": "debug",
  "listener-connected": "crit",
  "listener-failed": "crit",
  "notifications-lost": "crit",
  "listener-retrying": "crit",
  "listener-cleanup-failed": "crit",
  "notification-queue-broken": "crit",
  "reload-requested": "crit",
  "version-failed": "crit",
  "version-unsupported": "crit",
  "pooler-found": "crit",
  "statement-refused": "crit",
  "pool-acquiring": "debug",
  "pool-acquired": "debug",
  "pool-flushed": "debug",
  "pool-connection": "debug",
  "jwt-cache-lookup": "debug",
  "jwt-cache-evicted": "debug",
  "config-reloaded": "crit",
  "config-reload-failed": "crit",
  "restart-needed": "crit",
  "database-config-failed": "crit",
  "old-role-path": "crit",
  "embedded-starting": "crit",
  "embedded-initializing": "crit",
  "embedded-ready": "crit",
  "target-names-used": "crit",
  "request-failed": "error",
  "unexpected-error": "error",
  "terminating": "crit",
};

/** Returns whether `level` logs what is of `severity`. */
export function isLogged(severity: LogLevel, level: LogLevel): boolean {
  return logLevels.indexOf(severity) <= logLevels.indexOf(level);
}
