/** Interface between the service and PostgreSQL: transactions in, results out. @module */
import type { Dialect } from "../base/dialect.ts";
import type { BodySpool } from "../base/lib/body_spool.ts";
import type { Deadline } from "../base/lib/time_limits.ts";
import type { Histogram } from "../base/observe/metric_registry.ts";
import type { Transaction, TransactionEvents, TransactionResult } from "./transaction.ts";

export interface Caller {
  /** Aborted when the client disconnects. The pool reads this property only if it needs the signal,
   * because runtimes create the signal on first access. */
  readonly signal: AbortSignal;
  /** Time limit; the transaction is canceled when it is exceeded. Default: null, for no limit. */
  readonly deadline?: Deadline | null;
  /** Receives the time that the transaction waits in the queue. Default: no receiver. */
  readonly timing?: QueueTiming | null;
  /** Receives the events of the transaction while it runs. Default: no receiver. */
  readonly events?: TransactionEvents | null;
}

export interface PoolCounts {
  readonly max: number;
  readonly open: number;
  readonly inUse: number;
  readonly waiting: number;
  readonly timeouts: number;
}

/** Measures how long transactions wait in the queue of a pool. */
export interface QueueTiming {
  queueMs: number;
}

/** Defaults of implicit transactions. JIT is off, because it costs short statements more than it saves. */
export const connectionSetup = "set default_transaction_isolation = 'read committed'; " +
  "set default_transaction_read_only = off; set jit = off";

export interface Subscription {
  readonly version: string;
  /** Host and port: `localhost:5432`. For a Unix socket, the host is the folder of the socket. */
  readonly place: string;
  /** Sends a query over the connection. Resolves when the server has answered; rejects and closes
   * the connection after 5 s. Absent for an embedded database. */
  ask?(): Promise<void>;
  /** Ends the subscription and its events. Does not wait for the server. */
  close(): Promise<void>;
}

export interface SubscriptionEvents {
  notified(payload: string): void;
  /** Emitted once when the connection is lost, after `subscribe` has resolved. */
  lost(reason: string): void;
}

export interface Notifications {
  /** Listens to a channel. Rejects if that fails. */
  subscribe(channel: string, events: SubscriptionEvents): Promise<Subscription>;
  /** Sends a notification over a connection of the pool; if the pool has a single connection, over a
   * separate one. Rejects on failure. Absent if no pooler can lose notifications. */
  notify?(channel: string, payload: string): Promise<void>;
}

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

/** An event of the pool. The pool emits events only at the most detailed log level. */
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

export interface InitScript {
  readonly text: string;
  /** Name for errors: `init.sql`. */
  readonly name: string;
}

/** Options of a database that can change while it is open, and the receivers of its events. */
export interface DatabaseOptions {
  /** Whether statements are prepared; see `db-prepared-statements`. */
  readonly prepare: boolean | "auto";
  /** Whether all transactions are blocks. Default: false. */
  readonly usesBlocks?: boolean;
  /** Default: the settings with which the database was opened. */
  readonly replicas?: ReplicaSettings;
  /** Receives the events of the pool. Default: null, for no receiver. */
  readonly trace?: ((event: PoolEvent) => void) | null;
  /** Called when a pooler in transaction mode is detected. With `"auto"`, statements are unnamed
   * from then on. Default: nothing is called. */
  readonly onPooler?: () => void;
  /** Receives the events of standbys. Default: no receiver. */
  readonly onStandby?: (event: StandbyEvent) => void;
}

export interface ReplicaSettings {
  /** A standby with a greater lag executes no reads. */
  readonly maxLagMs: number;
  /** Treatment of a read that no standby can execute: the primary executes it, or an error is returned. */
  readonly fallback: "primary" | "error";
}

export interface StandbyCounts {
  /** `localhost:5432` */
  readonly place: string;
  readonly isServing: boolean;
  /** Null while the lag is unknown. */
  readonly lagSeconds: number | null;
  readonly inFlight: number;
  readonly reads: number;
}

/** Current numbers of reads on standbys, for metrics. */
export interface ReplicaCounts {
  readonly standbys: readonly StandbyCounts[];
  /** Reads that the primary executed instead of standbys, by reason. */
  readonly fallbacks: ReadonlyMap<string, number>;
  /** Reads that the primary repeated, by reason. */
  readonly retries: ReadonlyMap<string, number>;
}

/** The standbys of a primary. */
export interface Standbys {
  /** Starts to observe primary and standbys. Before this call, standbys execute no reads. */
  observe(): void;
  /** Whether a standby executes reads now. */
  readonly isServing: boolean;
  counts(): ReplicaCounts;
}

/** Connections that stay open: sockets, or the session of an embedded database. */
export interface DatabasePool {
  /** Seconds that transactions waited for a connection. */
  readonly queueSeconds: Histogram;
  /** Closes idle connections now, and busy connections when they are returned. New ones replace them. */
  flush(): void;
  /** Applies options. Replaces connections, as {@linkcode flush} does, if their options change. */
  configure(options: DatabaseOptions): void;
  /** Returns null if no connection is idle. Otherwise queries the server over an idle connection.
   * If no answer arrives within 5 s, closes the connection and rejects. */
  ask(): Promise<void> | null;
  /** Tests each idle connection by a query before its next use. Closes it if no answer arrives
   * within a second. */
  suspect(): void;
  /** Whether the last connection is encrypted; null before the first connection over a network. */
  isEncrypted(): boolean | null;
  /** Stores unread bytes of bodies for slow readers. Absent for an embedded database. */
  readonly bodySpool?: BodySpool;
}

/** A PostgreSQL database: pooled, opened per request, or embedded. */
export interface Database {
  /**
   * Runs a transaction. The receiver of the reply owns its body and reads or discards it: a stream
   * that is neither read nor discarded keeps a connection busy. If the `caller` disconnects, a
   * running or queued read is canceled; a write runs to its end. If the deadline is exceeded, a
   * queued transaction rejects with `134`. A running transaction is canceled, and PostgreSQL reports
   * the result.
   *
   * If the block has the end `open`, the result has the open transaction. The caller must end it.
   *
   * Throws `DatabaseError` if a statement fails, with its position as `statement`. Throws
   * `cannotConnect`, `connectionLost` and `acquisitionTimeout` of the catalogue.
   */
  transaction(transaction: Transaction, caller?: Caller): Promise<TransactionResult>;
  version(): Promise<string>;
  counts(): PoolCounts;
  /** Absent if each transaction opens a connection. */
  readonly pool?: DatabasePool;
  /** Present if standbys may execute reads. If absent, `standby` and `wantsBookmark` of
   * transactions have no effect. */
  readonly standbys?: Standbys;
  /** Absent if connections do not live long enough to listen. */
  readonly notifications?: Notifications;
  /** Present for an embedded database, whose running statements cannot be canceled. */
  readonly embedded?: {
    /** Starts the database before its first transaction. Resolves with the result of
     * `db-embedded-init`; null if it is not set. Rejects with an `Error` of one line. */
    start(): Promise<"applied" | "unchanged" | "changed" | null>;
  };
  /** Closes all connections; transactions in progress finish first. */
  close(): Promise<void>;
}

export type PooledDatabase = Database & Required<Pick<Database, "pool">>;

/** Returns whether connections to a server stay open. An embedded database has none. */
export function keepsConnections({ pool, embedded }: Pick<Database, "embedded" | "pool">): boolean {
  return pool !== undefined && embedded === undefined;
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
  /** Whether a chunk of a body is freed when its reader requests the next one. Default: false. */
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
