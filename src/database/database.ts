/** The port between the service and PostgreSQL: transactions in, results out. @module */
import type { Dialect } from "../base/dialect.ts";
import type { BodySpool } from "../base/lib/body_spool.ts";
import type { Deadline } from "../base/lib/time_limits.ts";
import type { Histogram } from "../base/observe/metric_registry.ts";
import type { Transaction, TransactionEvents, TransactionResult } from "./transaction.ts";

export interface Caller {
  /** Aborted when the client leaves. The pool reads it late: runtimes create it on first access. */
  readonly signal: AbortSignal;
  /** Cancels the transaction when its time is over. Default: null, for no limit. */
  readonly deadline?: Deadline | null;
  /** The pool sets the time in its queue. Default: nothing is measured. */
  readonly timing?: QueueTiming | null;
  /** Receives what happens while the transaction runs. Default: no receiver. */
  readonly events?: TransactionEvents | null;
}

/** Measures how long transactions wait in the queue of a pool. */
export interface QueueTiming {
  queueMs: number;
}

/** Defaults of implicit transactions; JIT costs short statements more than it saves. */
export const connectionSetup = "set default_transaction_isolation = 'read committed'; " +
  "set default_transaction_read_only = off; set jit = off";

export interface PoolCounts {
  readonly max: number;
  readonly open: number;
  readonly inUse: number;
  readonly waiting: number;
  readonly timeouts: number;
}

export interface Subscription {
  readonly version: string;
  /** `localhost:5432`; for a Unix socket its folder replaces the host. */
  readonly place: string;
  /**
   * Resolves when the server has answered a question over the connection, which is closed after 5 s without
   * an answer; then it rejects. Absent for an embedded database.
   */
  ask?(): Promise<void>;
  /** Ends the subscription and its events. Never hangs. */
  close(): Promise<void>;
}

export interface SubscriptionEvents {
  notified(payload: string): void;
  /** The connection is lost; emitted once, after {@linkcode Subscribe} has resolved. */
  lost(reason: string): void;
}

/** Listens to a channel. Rejects if that fails. */
export type Subscribe = (channel: string, events: SubscriptionEvents) => Promise<Subscription>;

/** Over a connection of the pool, or a separate one if the pool has a single connection. Rejects on
 * failure. */
export type Notify = (channel: string, payload: string) => Promise<void>;

export type ConnectionStep =
  | "being established"
  | "available: connection establishment"
  | "available: session success"
  | "available: session failure"
  | "used"
  | "terminated: max lifetime"
  | "terminated: max idletime"
  | "terminated: release"
  | "terminated: network error"
  | "terminated: init failure";

/** An event of the pool, emitted while the log has its most detailed level. */
export type PoolEvent =
  | { readonly kind: "pool-acquiring" }
  | { readonly kind: "pool-acquired" }
  | { readonly kind: "pool-flushed" }
  | { readonly kind: "pool-connection"; readonly id: string; readonly step: ConnectionStep };

export type StandbyEvent =
  | { readonly kind: "standby-included"; readonly place: string }
  | { readonly kind: "standby-excluded"; readonly place: string; readonly reason: string }
  /** The server belongs to another database cluster than the primary. */
  | { readonly kind: "standby-foreign"; readonly place: string };

export interface DatabaseWatcher {
  /** Receives the events of the pool; null turns them off. */
  readonly trace: ((event: PoolEvent) => void) | null;
  /** A pooler in transaction mode was found. With `"auto"`, statements are unnamed from then on. */
  readonly onPooler: () => void;
  /** Receives the events of standbys. Default: no receiver. */
  readonly onStandby?: (event: StandbyEvent) => void;
}

export interface InitScript {
  readonly text: string;
  /** Name for errors: `init.sql`. */
  readonly name: string;
}

/** Options of a database that can change while it is open. */
export interface DatabaseOptions {
  /** Whether statements are prepared; see `db-prepared-statements`. */
  readonly prepare: boolean | "auto";
  /** Whether all transactions are blocks. Default: false. */
  readonly usesBlocks?: boolean;
  /** Default: the parameters of the start. */
  readonly replicas?: ReplicaSettings;
}

export interface ReplicaSettings {
  /** A standby that lags further executes no reads. */
  readonly maxLagMs: number;
  /** Result of a read for which no standby is fit: the primary, or an error. */
  readonly fallback: "primary" | "error";
}

export interface StandbyCounts {
  /** `localhost:5432` */
  readonly place: string;
  readonly isServing: boolean;
  /** Null while it is unknown. */
  readonly lagSeconds: number | null;
  readonly inFlight: number;
  readonly reads: number;
}

/** Current numbers of reads that standbys may execute, for metrics. */
export interface ReplicaCounts {
  readonly standbys: readonly StandbyCounts[];
  /** Reads that the primary executed instead of standbys, by reason. */
  readonly fallbacks: ReadonlyMap<string, number>;
  /** Reads that the primary repeated, by reason. */
  readonly retries: ReadonlyMap<string, number>;
}

/** A PostgreSQL database: pooled, opened per request, or embedded. */
export interface Database {
  /**
   * Runs a transaction. The receiver of the reply owns its body and reads or discards it: a stream
   * that is neither read nor discarded keeps a connection busy. A `caller` that leaves cancels a
   * read, running or queued; a write runs to its end. When the caller's deadline is over, a queued
   * transaction rejects with `134`, and a running one is canceled; its result then comes from
   * PostgreSQL.
   *
   * If its end is `open`, the result has the open transaction, which the caller ends in any case.
   *
   * Throws `DatabaseError` if a statement fails, with its position as `statement`. Throws `cannotConnect`,
   * `connectionLost` and `acquisitionTimeout` of the catalogue.
   */
  transaction(transaction: Transaction, caller?: Caller): Promise<TransactionResult>;
  version(): Promise<string>;
  /** Closes idle connections now and busy ones when they are returned; new uses open fresh ones. */
  flush(): void;
  counts(): PoolCounts;
  /**
   * Asks the server over an idle connection; null where none is idle. Resolves with its answer.
   * Rejects if no answer arrives within 5 s, and closes the connection. Absent without a pool of
   * sockets.
   */
  ask?(): Promise<void> | null;
  /** Asks over each idle connection before it is used again, and closes it after a second. Absent without a pool of sockets. */
  suspect?(): void;
  /** Whether standbys may execute reads; `standby` and `wantsBookmark` of transactions mean nothing otherwise. Default: false. */
  readonly hasStandbys?: boolean;
  /** Starts to observe primary and standbys; no standby executes a read before. Absent where nothing observes them. */
  observeServers?(): void;
  hasServingStandby?(): boolean;
  replicaCounts?(): ReplicaCounts;
  /** Whether a statement can be canceled while it runs. Default: true. */
  readonly canCancel?: boolean;
  /** Null where no connection lives long enough to listen. */
  readonly subscribe: Subscribe | null;
  /**
   * Starts an embedded database before its first transaction. Resolves with the result of its SQL; null
   * without SQL. Rejects with an `Error` of one line. Absent for other databases.
   */
  start?(): Promise<"applied" | "unchanged" | "changed" | null>;
  /** Sends a notification, to check that a pooler does not lose it. Absent where no pooler is possible. */
  readonly notify?: Notify;
  /** Applies options; replaces connections that work otherwise, as {@linkcode flush} does. */
  configure(options: DatabaseOptions): void;
  /** Whether the last connection is encrypted; null before the first one over a network. Absent without sockets. */
  isEncrypted?(): boolean | null;
  /** Seconds that transactions waited for a connection; absent without a pool. */
  readonly queueSeconds?: Histogram;
  /** Keeps the bodies of slow readers; absent where these keep their connections. */
  readonly bodySpool?: BodySpool;
  watch(watcher: DatabaseWatcher): void;
  /** Closes all connections; transactions in progress finish first. */
  close(): Promise<void>;
}

/** Options of the configuration that concern connections. Times are in seconds, sizes in bytes. */
export interface DatabaseConfig {
  readonly dbUri: string;
  /** Connection string for notifications. Default: `dbUri`. */
  readonly dbChannelUri?: string | null;
  /** File with the password. Default: none. */
  readonly dbPasswordFile?: string | null;
  readonly dbPool: number;
  /** Connection string of the standbys. Default: none. */
  readonly dbReplicaUri?: string | null;
  /** Connections per standby. Default: `dbPool`. */
  readonly dbReplicaPool?: number | null;
  /** Default: 10. */
  readonly dbReplicaMaxLag?: number;
  /** Default: `primary`. */
  readonly dbReplicaFallback?: "primary" | "error";
  readonly dbPoolAcquisitionTimeout: number;
  readonly dbPoolMaxIdletime: number;
  readonly dbPoolMaxLifetime: number;
  readonly dbPreparedStatements: boolean | "auto";
  /** Default: 0. */
  readonly serverSpoolSize?: number;
  readonly dialect: Pick<Dialect, "namesApplicationInKeywords">;
}

/** Whether connections stay open in a pool, or each request opens and closes one. */
export type Connections = "pooled" | "per-request";

export interface DatabaseDependencies {
  /** SQL that initialises a new embedded database, or null. */
  readonly embeddedInit: InitScript | null;
  /** Extensions of an embedded database. Default: none. */
  readonly embeddedExtensions?: Readonly<Record<string, object>>;
  readonly applicationName: string;
  /** Whether readers of bodies keep no chunk of them. Default: false. */
  readonly freesChunks?: boolean;
  /** Default: `pooled`. */
  readonly connections?: Connections;
}

export function replicaSettings(
  { dbReplicaMaxLag = 10, dbReplicaFallback = "primary" }: Pick<
    DatabaseConfig,
    "dbReplicaMaxLag" | "dbReplicaFallback"
  >,
): ReplicaSettings {
  return { maxLagMs: dbReplicaMaxLag * 1000, fallback: dbReplicaFallback };
}
