/**
 * The port between the service and PostgreSQL: one transaction is one batch of statements, sent in
 * one write where possible. Adapters: a pool of connections (`postgres.ts`) and PostgreSQL in the
 * process (`pglite.ts`); both speak through `wire.ts`.
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
  /** Aborting it leaves the queue, or cancels the statement that runs. */
  readonly signal?: AbortSignal;
}

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
  /** Closes all connections; uses in progress are finished first. */
  close(): Promise<void>;
}
