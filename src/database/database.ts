/**
 * The port between the service and PostgreSQL: one transaction is one batch of statements, sent in
 * one write where possible. Adapters: a pool of connections (`postgres.ts`) and PostgreSQL in the
 * process (`pglite.ts`); both speak through `wire.ts`.
 *
 * @module
 */
import type { ParamValue } from "../sql/fragment.ts";
import type { Footing } from "./footing.ts";
import type { Pace } from "./pace.ts";

/** What becomes of a statement's rows. */
export type ResultUse =
  /** Rows are thrown away. */
  | "none"
  /** Rows are kept as text: small results only. */
  | "rows"
  /** One row; all columns but the last are kept as text, the last is the body. */
  | "answer";

/** One statement of a batch. */
export interface Statement {
  /** SQL with `$1` …; the text is also the key under which it is prepared. */
  readonly text: string;
  readonly params: readonly ParamValue[];
  readonly use: ResultUse;
}

export type AccessMode = "read only" | "read write";
export type IsolationLevel = "read committed" | "repeatable read" | "serializable";

/** How a transaction ends. */
export type Ending = "commit" | "rollback";

/** A whole transaction. */
export interface Batch {
  readonly access: AccessMode;
  readonly isolation: IsolationLevel;
  /**
   * Role and search path that the batch needs, and what it is told with them; `any` where its statements
   * set these themselves; undefined for those with which connections are opened.
   */
  readonly footing?: Footing | "any";
  /** At most one of them has `use: "answer"`. Run in order; the first failure ends the batch. */
  readonly statements: readonly Statement[];
  /**
   * How to end. A function is asked once the answer's columns are known (a second round trip); what
   * it throws rolls back and is thrown on.
   */
  readonly end: Ending | ((answer: AnswerHead) => Ending);
  /**
   * Whether the body may be handed out while it still arrives. `false` holds it until the end of the
   * transaction is confirmed.
   */
  readonly stream: boolean;
  /**
   * Gives the signal whose aborting leaves the queue, or cancels the statement that runs. It is asked
   * for when the batch takes its time only: making one costs runtimes more than many a batch.
   */
  readonly signal?: () => AbortSignal;
  /**
   * `implicit` leaves BEGIN and COMMIT out: the statements are one transaction because they are sent
   * together, of the isolation level `read committed`. The first of them sets isolation level and
   * access mode, which fails with 25001 where the connection's defaults are others. Only where `end`
   * is `commit`. Where connections are not prepared for it, it is a block all the same.
   */
  readonly block?: "explicit" | "implicit";
  /**
   * How long batches like this one take, which are `implicit`. Quick ones wait for each other, and
   * share a write if they may be run a second time without anybody noticing.
   */
  readonly pace?: Pace;
  /** It must not be run a second time; false unless told. */
  readonly once?: boolean;
  /**
   * Nothing of it remains when it fails, outside of its transaction either: although it must not be run
   * twice, it may give way to others when it has to wait for a lock, and be run anew. It may share a write
   * with others like it.
   */
  readonly undoable?: boolean;
  /**
   * Gives what takes the place of the first statement where the transaction has a BEGIN, which says
   * isolation level and access mode. Batches that have it may be run one after the other in a chain of
   * transactions, whose answers come together: only those that may share a write.
   */
  readonly inBlock?: () => Statement;
}

/**
 * What connections begin with, so that transactions without BEGIN are as those with one, and short
 * statements are run rather than compiled to machine code. Says which process of the server it is.
 */
export const connectionSetup = "set default_transaction_isolation = 'read committed'; " +
  "set default_transaction_read_only = off; set jit = off; select pg_catalog.pg_backend_pid()";

/** Columns of the answering row before the body, as text. Empty when the statement gave no row. */
export type AnswerHead = readonly (string | null)[];

/** The last column of the answering row. */
export interface Body {
  /** Exact number of bytes; `null` for SQL NULL or no row at all. */
  readonly length: number | null;
  /** All bytes when they have arrived; else a stream with back-pressure. */
  readonly content: Uint8Array | ReadableStream<Uint8Array>;
}

/** Asks for what `version()` says: the one row of the first statement. */
export const versionBatch: Batch = {
  access: "read only",
  isolation: "read committed",
  statements: [{ text: "select version()", params: [], use: "rows" }],
  end: "commit",
  stream: false,
};

/** Lets go of a body that nobody will read, so that its connection can be used again. */
export function discardBody({ content }: Body): void {
  if (content instanceof ReadableStream) content.cancel().catch(() => {});
}

/** What a batch that ended well gave. */
export interface BatchReply {
  readonly head: AnswerHead;
  readonly body: Body;
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
  | { readonly kind: "pool-asked" }
  /** Somebody has used one and gave it back. */
  | { readonly kind: "pool-returned" }
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
   * Runs a transaction. Whoever gets the reply owns its body, and reads or discards it: a stream that
   * is left alone keeps a connection busy.
   *
   * Raises `DatabaseError` when PostgreSQL refuses a statement (`statement` of the error says which),
   * and from the catalogue `cannotConnect`, `connectionLost` or `acquisitionTimeout`.
   */
  transaction(batch: Batch): Promise<BatchReply>;
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
