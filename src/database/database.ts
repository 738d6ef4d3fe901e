/**
 * The port between the service and PostgreSQL: one transaction is one batch of statements, sent in
 * one write where possible. Adapters: a pool of connections (`postgres.ts`) and PostgreSQL in the
 * process (`pglite.ts`); both speak through `protocol/`.
 *
 * @module
 */
import type { ParamValue } from "../sql/fragment.ts";

/** What becomes of a statement's rows. */
export type ResultUse =
  /** Rows are thrown away. */
  | "none"
  /** Rows are kept as text: small results only. */
  | "rows"
  /** One row; all columns but the last are kept as text, the last is the body. */
  | "result";

/** One statement of a batch. */
export interface Statement {
  /** SQL with `$1` …; the text is also the key under which it is prepared. */
  readonly text: string;
  readonly params: readonly ParamValue[];
  readonly use: ResultUse;
  /**
   * Whether the statement can run user-defined code. PostgreSQL checks EXECUTE on a function that it
   * inlines when it plans the statement, so such a statement is prepared for each role anew. Nothing
   * that follows it in its transaction is sent a second time. Default: false.
   */
  readonly runsUserCode?: boolean;
}

export type AccessMode = "read only" | "read write";
export type IsolationLevel = "read committed" | "repeatable read" | "serializable";

/** How a transaction ends. */
export type TransactionEnd = "commit" | "rollback";

/**
 * What the number in a column of the result must be for the transaction to commit. The number is that of
 * the first of the columns that is not NULL, 0 where all are.
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

/** What every batch has. */
interface BatchCommon {
  /** A connection without prepared statements may lead to a pooler and always uses a block. */
  readonly transaction: ImplicitTransaction | BlockTransaction;
  /** Run in order; the first failure ends the batch. At most one of them has `use: "result"`. */
  readonly statements: readonly Statement[];
  /** Role for which statements that run user-defined code are prepared; null for the login role. */
  readonly role: string | null;
  /**
   * Identifies batches that differ by their parameters alone: the pool learns how long they take.
   * Null where that is unknown: such a batch is never pipelined.
   */
  readonly kind: object | null;
}

/** A transaction that cannot write. */
export interface ReadBatch extends BatchCommon {
  readonly access: "read only";
  /** `stream` hands a large body out while it arrives; `hold` keeps it until the transaction ends. */
  readonly body: "stream" | "hold";
  /** `safe`: a second execution has no effect that anything could notice. */
  readonly retry: "safe" | "never";
}

/** A transaction that may write: its body is held until the end is confirmed, and it is never retried. */
export interface WriteBatch extends BatchCommon {
  readonly access: "read write";
}

/** A whole transaction, as data. */
export type Batch = ReadBatch | WriteBatch;

/** The client that waits for a batch's result, such as a `Request`. */
export interface Caller {
  /** Aborted when the client leaves. The pool reads it late: runtimes create it on first access. */
  readonly signal: AbortSignal;
}

/**
 * SQL that a connection begins with: the defaults that an implicit transaction relies on, and no
 * just-in-time compilation, which costs short statements more than it saves.
 */
export const connectionSetup = "set default_transaction_isolation = 'read committed'; " +
  "set default_transaction_read_only = off; set jit = off";

/**
 * Statements with which the service's own transactions begin: a function may have left another role or
 * search path on the connection.
 */
export const sessionReset: readonly Statement[] = [
  { text: "reset role", params: [], use: "none" },
  { text: "reset search_path", params: [], use: "none" },
];

/** Builds a read-only transaction of the service's own. */
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
    role: null,
    kind: null,
  };
}

/** Columns of the answering row before the body, as text. Empty when the statement gave no row. */
export type ResultColumns = readonly (string | null)[];

/** The last column of the answering row. */
export interface ResultBody {
  /** Exact number of bytes; `null` for SQL NULL or no row at all. */
  readonly length: number | null;
  /** All bytes when they have arrived; else a stream with back-pressure. */
  readonly content: Uint8Array | ReadableStream<Uint8Array>;
}

/**
 * Asks for what `version()` returns: the one row of the last statement. Its end takes a second round
 * trip, which a pooler in statement mode refuses.
 */
export const versionBatch: ReadBatch = metadataBatch(
  [{ text: "select version()", params: [], use: "rows" }],
  [],
);

/** Lets go of a body that nobody will read, so that its connection can be used again. */
export function discardBody({ content }: ResultBody): void {
  if (content instanceof ReadableStream) content.cancel().catch(() => {});
}

/** What a batch that ended well gave. */
export interface BatchResult {
  /** `rollback` also where the result was outside of the batch's bounds. */
  readonly ended: TransactionEnd;
  readonly head: ResultColumns;
  readonly body: ResultBody;
  /** Rows of each statement with `use: "rows"`, by its position; others are empty. */
  readonly rows: readonly (readonly (readonly (string | null)[])[])[];
}

/** Live counts of a pool, for metrics. */
export interface PoolCounts {
  readonly max: number;
  readonly open: number;
  readonly inUse: number;
  readonly waiting: number;
  readonly timeouts: number;
}

/** A connection that is told of notifications. */
export interface Subscription {
  /** What `version()` says there. */
  readonly version: string;
  /** `localhost:5432`; for sockets with their folder in the place of the host. */
  readonly place: string;
  /** Ends it; nothing is told afterwards. Never hangs. */
  close(): Promise<void>;
}

/** What a subscription tells. */
export interface SubscriptionEvents {
  notified(payload: string): void;
  /** The connection is gone; told once, and only after the subscription was given. */
  lost(reason: string): void;
}

/** Listens to a channel; rejects when that is not possible. */
export type Subscribe = (channel: string, events: SubscriptionEvents) => Promise<Subscription>;

/** Sends a notification over a connection that does not listen; rejects when that is not possible. */
export type Notify = (channel: string, payload: string) => Promise<void>;

/** What happens to a connection of the pool. */
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

/** A step of the pool, told while somebody watches. */
export type PoolEvent =
  /** Somebody asks for a connection. */
  | { readonly kind: "pool-acquiring" }
  /** Somebody has used one and gave it back. */
  | { readonly kind: "pool-acquired" }
  | { readonly kind: "pool-flushed" }
  | { readonly kind: "pool-connection"; readonly id: string; readonly step: ConnectionStep };

/** Whom a database tells of what happens beside its transactions. */
export interface DatabaseWatcher {
  /** Null for nobody: nothing is prepared for telling then. */
  readonly trace: ((event: PoolEvent) => void) | null;
  /**
   * Connections change between transactions, and prepared statements with them: there is a pooler in
   * transaction mode in between.
   */
  readonly onPooler: () => void;
}

/** A PostgreSQL database, however it is reached. */
export interface Database {
  /**
   * Runs a transaction. The receiver of the reply owns its body and reads or discards it: a stream
   * that is neither read nor discarded keeps a connection busy. A `caller` that leaves cancels a
   * read, running or queued; a write runs to its end.
   *
   * Raises `DatabaseError` when PostgreSQL refuses a statement (`statement` of the error says which),
   * and from the catalogue `cannotConnect`, `connectionLost` or `acquisitionTimeout`.
   */
  transaction(batch: Batch, caller?: Caller): Promise<BatchResult>;
  /** What `version()` says, asked on a connection of the pool. */
  version(): Promise<string>;
  /** Closes idle connections now and busy ones when they are returned; new uses open fresh ones. */
  flush(): void;
  counts(): PoolCounts;
  /** Null where notifications cannot be waited for. */
  readonly subscribe: Subscribe | null;
  /** Absent where notifications cannot be lost on their way. */
  readonly notify?: Notify;
  /** Tells this watcher from now on, in the place of the one before. */
  watch(watcher: DatabaseWatcher): void;
  /** Closes all connections; uses in progress are finished first. */
  close(): Promise<void>;
}
