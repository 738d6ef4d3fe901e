/**
 * The port between the service and PostgreSQL: one transaction is one batch of statements, sent in
 * one write where possible. Adapters: a pool of connections (`postgres.ts`) and the embedded database
 * (`pglite.ts`); both encode their messages by `protocol/`.
 *
 * @module
 */
import type { BodySpool } from "../lib/body_spool.ts";
import type { Deadline } from "../lib/request_deadline.ts";
import type { Histogram } from "../observe/histogram.ts";
import type { ParamValue } from "../sql/fragment.ts";
import type { PositionCondition, ReturnedPosition, WalPosition } from "./wal_position.ts";

/** How a statement's rows are used. */
export type ResultUse =
  /** Rows are discarded. */
  | "none"
  /** Rows are kept as text: small results only. */
  | "rows"
  /** One row; all columns but the last are kept as text, the last is the body. */
  | "result"
  /** The same, but of several statements: their bodies are whole, and go to {@linkcode BatchEvents}. */
  | "held";

/**
 * How further rows of a statement with `use: "result"` or `"held"` continue its body. The last column of the first row
 * is a whole body of its own: it is empty or ends with `closing`. Each further row puts `separator` and
 * its own last column before `closing`; its other columns are ignored. ASCII texts, of few characters.
 */
export interface BodyFraming {
  /** Between two rows; not before the first that follows an empty body. */
  readonly separator: string;
  /** End of the body. */
  readonly closing: string;
  /** Bytes to leave out at both ends of the values of further rows. Default: 0. */
  readonly trimmedBytes?: number;
  /** Whether a stream of the body begins with the first further row, however short it is. Default: false. */
  readonly isEager?: boolean;
}

/** One statement of a batch. */
export interface Statement {
  /** SQL with `$1` …; the text is also the key under which it is prepared. */
  readonly text: string;
  readonly params: readonly ParamValue[];
  readonly use: ResultUse;
  /** Present if its result may have further rows that continue the body. */
  readonly framing?: BodyFraming;
  /**
   * Whether the statement can run user-defined code: the statements behind it in its transaction are
   * never retried. Default: false.
   */
  readonly runsUserCode?: boolean;
  /**
   * Whether PostgreSQL plans the statement alike for all roles and search paths, which then share one
   * prepared statement. Default: false.
   */
  readonly isShared?: boolean;
  /** Search path and role that the statement is prepared for. Default: `planContext` of the batch. */
  readonly planContext?: string;
}

export type AccessMode = "read only" | "read write";
export type IsolationLevel = "read committed" | "repeatable read" | "serializable";

/** How a transaction ends. */
export type TransactionEnd = "commit" | "rollback";

/**
 * Bounds on a number in the result: outside of them the transaction rolls back. The number is the
 * first of the columns that is not NULL, or 0.
 */
export interface ColumnBounds {
  /** Positions in the result, as in {@linkcode ResultColumns}. */
  readonly columns: readonly number[];
  readonly min: number;
  readonly max: number;
}

/**
 * Delimited by Sync alone: `read committed`, ends with a commit. The first statement sets the access
 * mode and verifies the isolation level, so that a connection with other defaults refuses it with 25001.
 * Transactions of this form can be pipelined, because one that fails leaves no open transaction behind.
 */
export interface ImplicitTransaction {
  readonly form: "implicit";
}

/**
 * Delimited by BEGIN and COMMIT or ROLLBACK. With bounds the end depends on the result, which takes
 * a second round trip: COMMIT where all of them hold, else ROLLBACK.
 */
export interface BlockTransaction {
  readonly form: "block";
  readonly isolation: IsolationLevel;
  readonly end: TransactionEnd | readonly ColumnBounds[];
}

/** How a transaction is delimited. */
export type TransactionForm = (ImplicitTransaction | BlockTransaction)["form"];

/**
 * A bound on the planner's cost. If an EXPLAIN shows a higher one, the transaction rolls back before the
 * statements behind it, and its promise rejects with `137`. The transaction is a block.
 */
export interface CostLimit {
  /** Position of the EXPLAIN among the statements of the batch, with its result as JSON. */
  readonly statement: number;
  readonly maxCost: number;
}

/** Fields of all batches. */
interface BatchCommon {
  /** A connection without prepared statements may lead to a pooler and always uses a block. */
  readonly transaction: ImplicitTransaction | BlockTransaction;
  /** Run in order; the first failure ends the batch. At most one of them has `use: "result"`. */
  readonly statements: readonly Statement[];
  /**
   * Search path and role of the transaction, as one text, for which its statements are prepared; null
   * for those of the connection. PostgreSQL plans a statement anew when either differs, and it checks
   * EXECUTE on functions that it inlines only then.
   */
  readonly planContext: string | null;
  /** Whether the pool emits events for the batch. Default: true. */
  readonly isTraced?: boolean;
  /**
   * Identifies batches that differ by their parameters alone: the pool learns how long they take.
   * Null where that is unknown: such a batch is never pipelined.
   */
  readonly kind: object | null;
  /** By ascending position; each takes a round trip. Default: no limits. Excludes a stream. */
  readonly costLimits?: readonly CostLimit[];
  /** Receives what happens while the batch runs. Default: no receiver. */
  readonly events?: BatchEvents;
  /**
   * Most bytes of all results with `use: "held"`. Above it the transaction rolls back, unless its end was
   * sent with its statements, and its promise rejects with `141`. Default: no limit.
   */
  readonly maxHeldBytes?: number;
  /**
   * Whether the result has a bookmark. The position of a write is read after its COMMIT, in the same write to
   * the socket; that of a read is at or behind all that the read saw. Default: false.
   */
  readonly wantsBookmark?: boolean;
  /**
   * How the connection uses positions in the write-ahead log. Set only by the database that chooses between
   * primary and standbys. Default: not at all.
   */
  readonly walPosition?: WalPositionUse;
}

/** How a connection uses positions in the write-ahead log. */
export interface WalPositionUse {
  /**
   * Condition for the server; otherwise the batch fails with 22012 before its first statement. Null for
   * none.
   */
  readonly condition: PositionCondition | null;
  /** The server's position behind the transaction that the result has; null for none. */
  readonly returned: ReturnedPosition | null;
}

/** How a read may use a standby. */
export interface StandbyUse {
  /**
   * The client's bookmarks, separated by commas; null without one. The primary executes the read if a text is
   * not a bookmark, or if the bookmarks cannot be compared.
   */
  readonly bookmark: string | null;
  /**
   * Whether all functions that the read can reach are stable or immutable, so that the primary may repeat
   * what a standby refused.
   */
  readonly isRepeatable: boolean;
  /**
   * Milliseconds since the schema cache of the read was loaded. A standby that lags further behind may lack
   * what the read names, so it does not execute the read. Default: no limit.
   */
  readonly schemaAgeMs?: number;
}

/** Receives what happens while a batch runs. A batch that is sent once more begins once more. */
export interface BatchEvents {
  /** The batch is sent. */
  begun(): void;
  /** A statement with `use: "held"` has ended. */
  held(statement: number, result: HeldResult): void;
}

/** The result of a statement with `use: "held"`. */
export interface HeldResult {
  readonly columns: ResultColumns;
  readonly body: ResultBody;
}

/** A transaction that cannot write. */
export interface ReadBatch extends BatchCommon {
  readonly access: "read only";
  /** `stream` hands out a large body while it arrives; `hold` keeps it until the transaction ends. */
  readonly body: "stream" | "hold";
  /** `safe`: a second execution has no observable effect. */
  readonly retry: "safe" | "never";
  /** Present if a standby may execute the batch. Default: the primary does. */
  readonly standby?: StandbyUse;
}

/** A transaction that may write: its body is held until the end is confirmed. PostgreSQL never executes it twice. */
export interface WriteBatch extends BatchCommon {
  readonly access: "read write";
  /** Present if a statement is executed several times; the transaction is a block then. */
  readonly stream?: ParamStream;
  /**
   * Makes the last statement from the result, to be sent with COMMIT; null for none. The end of the
   * transaction has bounds then. It is not called if the transaction rolls back. If it throws, the transaction
   * rolls back, and its promise rejects with that error. Excludes a stream.
   */
  readonly closing?: (result: BatchResult) => Statement | null;
}

/**
 * Values of one parameter that arrive over time. Its statement is executed once for each of them, and the
 * result is that of the last execution. If the values fail, the transaction rolls back, and its promise
 * rejects with their error.
 */
export interface ParamStream {
  /** Position of the statement among those of the batch. */
  readonly statement: number;
  /** Position of the parameter in the statement. */
  readonly param: number;
  /** At least one. Each stays unchanged until the second one behind it is requested. */
  readonly values: AsyncIterable<Uint8Array>;
  /** Columns of the result whose numbers are added up over the executions. */
  readonly summed: readonly number[];
}

/** A whole transaction, as data. */
export type Batch = ReadBatch | WriteBatch;

/** The client that waits for a batch's result, such as a `Request`. */
export interface Caller {
  /** Aborted when the client leaves. The pool reads it late: runtimes create it on first access. */
  readonly signal: AbortSignal;
  /** Cancels the batch when its time is over. Default: null, for no limit. */
  readonly deadline?: Deadline | null;
  /** The pool sets the time in its queue. Default: nothing is measured. */
  readonly timing?: QueueTiming;
}

/** Measures how long batches wait in the queue of a pool. */
export interface QueueTiming {
  queueMs: number;
}

/**
 * SQL that a connection begins with. It sets the defaults that an implicit transaction relies on, and
 * turns off just-in-time compilation, which costs short statements more than it saves.
 */
export const connectionSetup = "set default_transaction_isolation = 'read committed'; " +
  "set default_transaction_read_only = off; set jit = off";

/**
 * Statements that begin the service's own transactions: a function may have left another role or search
 * path on the connection.
 */
export const sessionReset: readonly Statement[] = [
  { text: "reset role", params: [], use: "none" },
  { text: "reset search_path", params: [], use: "none" },
];

/** Builds a read-only transaction for the service itself. */
export function metadataBatch(
  statements: readonly Statement[],
  end: BlockTransaction["end"] = "commit",
): ReadBatch {
  return {
    access: "read only",
    transaction: { form: "block", isolation: "read committed", end },
    statements: [...sessionReset, ...statements],
    body: "hold",
    retry: "safe",
    planContext: null,
    kind: null,
  };
}

/** Columns of the result row before the body, as text. Empty if the statement returned no row. */
export type ResultColumns = readonly (string | null)[];

/** The last column of the result row. */
export interface ResultBody {
  /** Exact number of bytes; `null` for SQL NULL, for no row at all, and while it is unknown. */
  readonly length: number | null;
  /** The bytes if all have arrived; otherwise a stream with back-pressure. */
  readonly content: Uint8Array | ReadableStream<Uint8Array>;
  /** Resolves with the error that ends the stream before its end; absent for bytes. */
  readonly failure?: Promise<unknown> | undefined;
  /** Resolves when the stream has ended, failed or was cancelled; absent for bytes. */
  readonly ended?: Promise<void> | undefined;
}

/**
 * Reads `version()`, in the row of the last statement. The transaction's end takes a second round trip,
 * so a pooler in statement mode rejects it.
 */
export const versionBatch: ReadBatch = metadataBatch(
  [{ text: "select version()", params: [], use: "rows" }],
  [],
);

/** Discards an unread body, so that its connection can be used again. */
export function discardBody({ content }: ResultBody): void {
  if (content instanceof ReadableStream) content.cancel().catch(() => {});
}

/** The result of a batch that succeeded. */
export interface BatchResult {
  /** `rollback` also if the result was outside of the batch's bounds. */
  readonly end: TransactionEnd;
  readonly columns: ResultColumns;
  readonly body: ResultBody;
  /** Rows of each statement with `use: "rows"`, by its position; others are empty. */
  readonly rows: readonly (readonly (readonly (string | null)[])[])[];
  /**
   * Position that a later read must have reached to see what this batch wrote or saw; an opaque text. Absent
   * or null without one: the batch wants none, rolled back, or the position is unknown.
   */
  readonly bookmark?: string | null;
  /** The server's position behind the transaction; absent if none was read. */
  readonly walPosition?: WalPosition;
}

/** Live counts of a pool, for metrics. */
export interface PoolCounts {
  readonly max: number;
  readonly open: number;
  readonly inUse: number;
  readonly waiting: number;
  readonly timeouts: number;
}

/** A connection that listens to a channel. */
export interface Subscription {
  /** Result of `version()` on that server. */
  readonly version: string;
  /** `localhost:5432`; for a Unix socket its folder replaces the host. */
  readonly place: string;
  /** Ends the subscription and its events. Never hangs. */
  close(): Promise<void>;
}

/** Events of a subscription. */
export interface SubscriptionEvents {
  notified(payload: string): void;
  /** The connection is lost; emitted once, after {@linkcode Subscribe} has resolved. */
  lost(reason: string): void;
}

/** The server has no LISTEN: another attempt fails too. */
export class ListenUnsupported extends Error {
  override readonly name = "ListenUnsupported";
}

/** Listens to a channel. Rejects if that fails, with {@linkcode ListenUnsupported} on such a server. */
export type Subscribe = (channel: string, events: SubscriptionEvents) => Promise<Subscription>;

/**
 * Sends a notification over a connection that does not listen: one of the pool, or its own if the pool
 * has a single one. Rejects if that fails.
 */
export type Notify = (channel: string, payload: string) => Promise<void>;

/** Step in the life of a pooled connection. */
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
  /** A batch begins to wait for a connection. */
  | { readonly kind: "pool-acquiring" }
  /** A connection has executed its batches. */
  | { readonly kind: "pool-acquired" }
  | { readonly kind: "pool-flushed" }
  | { readonly kind: "pool-connection"; readonly id: string; readonly step: ConnectionStep };

/** An event of a standby. */
export type StandbyEvent =
  /** The standby executes reads from now on. */
  | { readonly kind: "standby-included"; readonly place: string }
  /** The standby executes no reads from now on. */
  | { readonly kind: "standby-excluded"; readonly place: string; readonly reason: string }
  /** The server belongs to another database cluster than the primary. */
  | { readonly kind: "standby-foreign"; readonly place: string };

/** Receives the events of a database other than its transactions. */
export interface DatabaseWatcher {
  /** Receives the events of the pool; null turns them off. */
  readonly trace: ((event: PoolEvent) => void) | null;
  /**
   * Called when a pooler in transaction mode is found: it switches server connections, and so the
   * prepared statements, between transactions. With `prepare: "auto"` statements are unnamed from then on.
   */
  readonly onPooler: () => void;
  /** Receives the events of standbys. Default: no receiver. */
  readonly onStandby?: (event: StandbyEvent) => void;
}

/** SQL that initialises an embedded database. */
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
  /** Whether BEGIN sets the isolation level, which some engines refuse. Default: true. */
  readonly setsIsolation?: boolean;
  /** Whether statements whose clients have left are canceled. Default: true. */
  readonly sendsCancels?: boolean;
  /** Longest wait in an overloaded queue, in milliseconds; 0 for no such limit. See `db-pool-queue-target`. */
  readonly queueTargetMs: number;
  /** Default: those of the start. */
  readonly replicas?: ReplicaSettings;
}

/** Settings of reads on standbys. */
export interface ReplicaSettings {
  /** A standby that lags further behind executes no reads. */
  readonly maxLagMs: number;
  /** Longest wait of a read for a standby, or for a slot on the primary. */
  readonly waitMs: number;
  /** Result of a read for which no standby is fit: that of the primary, or an error. */
  readonly fallback: "primary" | "error";
  /** Whether bookmarks are positions in the write-ahead log, where servers can tell these. Default: true. */
  readonly comparesPositions?: boolean;
}

/** Live counts of a standby, for metrics. */
export interface StandbyCounts {
  /** `localhost:5432` */
  readonly place: string;
  readonly isServing: boolean;
  /** Null while it is unknown. */
  readonly lagSeconds: number | null;
  readonly inFlight: number;
  readonly reads: number;
}

/** Live counts of reads that standbys may execute, for metrics. */
export interface ReplicaCounts {
  readonly standbys: readonly StandbyCounts[];
  /** Reads that the primary executed in place of standbys, by reason. */
  readonly fallbacks: ReadonlyMap<string, number>;
  /** Reads that the primary repeated, by reason. */
  readonly retries: ReadonlyMap<string, number>;
}

/** A PostgreSQL database: pooled, opened per request, or embedded. */
export interface Database {
  /**
   * Runs a transaction. The receiver of the reply owns its body and reads or discards it: a stream
   * that is neither read nor discarded keeps a connection busy. A `caller` that leaves cancels a
   * read, running or queued; a write runs to its end. When the caller's deadline is over, a queued batch
   * rejects with `134`, and a running one is canceled; its result is then that of PostgreSQL.
   *
   * Throws `DatabaseError` if a statement fails, with its position as `statement`. Throws `cannotConnect`,
   * `connectionLost` and `acquisitionTimeout` of the catalogue.
   */
  transaction(batch: Batch, caller?: Caller): Promise<BatchResult>;
  /** Returns the result of `version()`, over a connection of the pool. */
  version(): Promise<string>;
  /** Closes idle connections now and busy ones when they are returned; new uses open fresh ones. */
  flush(): void;
  counts(): PoolCounts;
  /** Whether standbys may execute reads; `standby` and `wantsBookmark` of batches mean nothing otherwise. Default: false. */
  readonly hasStandbys?: boolean;
  /** Starts to observe primary and standbys; no standby executes a read before. Absent where nothing observes them. */
  observeServers?(): void;
  /** Whether a standby executes reads now. Absent without standbys. */
  hasServingStandby?(): boolean;
  /** Absent without standbys. */
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
  /**
   * Replaces an embedded database in memory by a new one that other SQL initialises. If that fails, it
   * rejects with an `Error` of one line, and the database stays. Absent for other databases.
   */
  remake?(init: InitScript): Promise<void>;
  /** Absent where no pooler can lose notifications. */
  readonly notify?: Notify;
  /** Applies options; replaces connections that work otherwise, as {@linkcode flush} does. */
  configure(options: DatabaseOptions): void;
  /** Seconds that batches waited for a connection; absent without a pool. */
  readonly queueSeconds?: Histogram;
  /** Keeps the bodies of slow readers; absent where these keep their connections. */
  readonly bodySpool?: BodySpool;
  /** Replaces the watcher. */
  watch(watcher: DatabaseWatcher): void;
  /** Closes all connections; transactions in progress finish first. */
  close(): Promise<void>;
}
