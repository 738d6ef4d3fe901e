/** Transactions as data: the statements of one, how it begins and ends, and its result. @module */
import type { ParamValue } from "../base/sql/fragment.ts";

export type ResultUse =
  | "none"
  | "rows"
  /** One row; all columns but the last are kept as text, the last is the body. */
  | "result"
  /** The same, but of several statements: their bodies are whole, and go to {@linkcode TransactionEvents}. */
  | "held";

/**
 * How further rows of a statement with `use: "result"` or `"held"` continue its body. The last
 * column of the first row is a complete body: it is empty or ends with `closing`. Each further row
 * puts `separator` and its last column before `closing`; its other columns are ignored. ASCII
 * texts, of few characters.
 */
export interface BodyFraming {
  /** Between two rows; not before the first that follows an empty body. */
  readonly separator: string;
  readonly closing: string;
  /** Bytes to leave out at both ends of the values of further rows. Default: 0. */
  readonly trimmedBytes?: number;
  /** Whether a stream of the body begins with the first further row, however short it is. Default: false. */
  readonly isEager?: boolean;
}

export type StatementRole =
  | "settings"
  | "pre-request"
  | "key"
  /** Reads `response.*` of the function before a transaction. */
  | "overrides"
  | "reference"
  | "estimate"
  /** Shows the planner's cost of the main statement. */
  | "cost"
  /** A write of a nested insert before the main statement. */
  | "level"
  | "main"
  /** Checks `response.*` before COMMIT. */
  | "response settings"
  | "answer";

export interface Statement {
  /** Default: none, for statements of the service itself. */
  readonly role?: StatementRole;
  /** Position of its operation in a transaction. Default: the whole transaction. */
  readonly operation?: number;
  /** SQL with `$1` …; the text is also the key under which it is prepared. */
  readonly text: string;
  readonly params: readonly ParamValue[];
  readonly use: ResultUse;
  /**
   * Reads each row of its single column when it arrives, so that the texts are not kept. `rows` of the result has
   * what it returns. Default: the texts.
   */
  readonly parse?: ((text: string) => unknown) | undefined;
  /** Present if its result may have further rows that continue the body. */
  readonly framing?: BodyFraming;
  /** Whether it can run user-defined code, so what follows is never retried. Default: false. */
  readonly runsUserCode?: boolean;
  /** Whether one prepared statement serves all roles and search paths. Default: false. */
  readonly isShared?: boolean;
  /** Whether it is kept as the unnamed statement, which functions cannot replace. Default: false. */
  readonly isUnnamed?: boolean;
  /** Whether the text has values, so that it is neither kept prepared nor logged. Default: false. */
  readonly hasValues?: boolean;
  /** Search path and role that the statement is prepared for. Default: `planContext` of the transaction. */
  readonly planContext?: string;
}

export type AccessMode = "read only" | "read write";
export type IsolationLevel = "read committed" | "repeatable read" | "serializable";

export type TransactionEnd = "commit" | "rollback";

/** How BEGIN and COMMIT or ROLLBACK delimit a transaction. */
export interface TransactionBlock {
  readonly isolation: IsolationLevel;
  /** `open` leaves the end to {@linkcode OpenTransaction}, which takes a second round trip. */
  readonly end: TransactionEnd | "open";
}

interface TransactionCommon {
  /**
   * Null for an implicit transaction, which Sync alone delimits: it is `read committed` and ends with a commit.
   * Its first statement sets the access mode and verifies the isolation level, so that a connection with other
   * defaults refuses it with 25001. Implicit transactions can be pipelined, because one that fails leaves no
   * open transaction. A connection without prepared statements may lead to a pooler and always uses a block.
   */
  readonly block: TransactionBlock | null;
  /** Run in order; the first failure ends the transaction. At most one of them has `use: "result"`. */
  readonly statements: readonly Statement[];
  /**
   * Search path and role of the transaction, as one text, for which its statements are prepared;
   * null for the connection's. PostgreSQL plans a statement again when either differs, and it
   * checks EXECUTE on functions that it inlines only then.
   */
  readonly planContext: string | null;
  /** Whether the pool emits events for the transaction. Default: true. */
  readonly isTraced?: boolean;
  /** Identifies transactions that differ by their parameters alone; null if never to be pipelined. */
  readonly kind: object | null;
  /**
   * Most bytes of all results with `use: "held"`. Above it the transaction rolls back, unless its end was
   * sent with its statements, and its promise rejects with `141`. Default: no limit.
   */
  readonly maxHeldBytes?: number;
  /**
   * Whether the result has a bookmark. The position of a write is read after its COMMIT, in the
   * same write to the socket; the position of a read is at or after everything that the read saw.
   * Default: false.
   */
  readonly wantsBookmark?: boolean;
  /** Whether functions may leave settings, locks or tables to the session, which are then undone. Default: false. */
  readonly mayChangeSession?: boolean;
  /** Positions in the write-ahead log to check and to return. Default: none. */
  readonly walPosition?: WalPositionUse;
}

/** A place in the write-ahead log. */
export interface WalPosition {
  readonly lsn: bigint;
  /** Lowest position that covers all that the server showed before. */
  readonly shownLsn: bigint;
  /** Null where the server is a standby: it does not tell without privileges. */
  readonly timeline: number | null;
}

interface WalPositionUse {
  /** Position that a standby must have replayed, or the transaction fails before its first
   * statement. Null if it may execute at once. */
  readonly minReplayed: bigint | null;
  /** Whether the result has the server's position after the transaction. */
  readonly isReturned: boolean;
}

export interface StandbyUse {
  /**
   * The client's bookmarks, separated by commas, or null. The primary executes the read if a text
   * is not a bookmark, or if the bookmarks cannot be compared.
   */
  readonly bookmark: string | null;
  /**
   * Milliseconds since the schema cache of the read was loaded. A standby that lags further may
   * lack what the read names, so it does not execute the read. Default: no limit.
   */
  readonly schemaAgeMs?: number;
}

/** Receives what happens while a transaction runs. A transaction that is sent once more begins once more. */
export interface TransactionEvents {
  begun(): void;
  held(result: HeldResult): void;
}

export interface HeldResult {
  readonly columns: ResultColumns;
  readonly body: ResultBody;
}

export interface ReadTransaction extends TransactionCommon {
  readonly access: "read only";
  /** `stream` hands out a large body while it arrives; `hold` keeps it until the transaction ends. */
  readonly body: "stream" | "hold";
  /** `safe`: a second execution has no observable effect. */
  readonly retry: "safe" | "never";
  /** Present if a standby may execute the transaction. Default: the primary does. */
  readonly standby?: StandbyUse;
}

/** A transaction that may write: its body is held until the end is confirmed. PostgreSQL never executes it twice. */
export interface WriteTransaction extends TransactionCommon {
  readonly access: "read write";
}

export type Transaction = ReadTransaction | WriteTransaction;

/**
 * A function may have left another role or search path on the connection. In this search path only
 * objects of `pg_catalog` have names without a schema, and PostgreSQL qualifies the names of all
 * other objects.
 */
const sessionReset: readonly Statement[] = [
  { text: "reset role", params: [], use: "none" },
  { text: "set local search_path to pg_temp", params: [], use: "none" },
];

/** Sets the search path of the login role in {@linkcode metadataTransaction}, for user-defined functions and views. */
export const loginSearchPath: readonly Statement[] = [
  { text: "reset search_path", params: [], use: "none" },
  {
    text: "select pg_catalog.set_config('search_path', pg_catalog.concat_ws(', ', " +
      "nullif(pg_catalog.current_setting('search_path'), ''), 'pg_temp'), true)",
    params: [],
    use: "none",
  },
];

/** Ends a wait for a lock, as of DDL in a transaction that stays open. */
export const lockTimeout: Statement = {
  text: "set local lock_timeout to '5s'",
  params: [],
  use: "none",
};

/** Builds a read-only transaction for the service itself, in a search path of built-in objects alone. */
export function metadataTransaction(
  statements: readonly Statement[],
  end: TransactionBlock["end"] = "commit",
): ReadTransaction {
  return {
    access: "read only",
    block: { isolation: "read committed", end },
    statements: [...sessionReset, ...statements],
    body: "hold",
    retry: "safe",
    planContext: null,
    kind: null,
    // Those that roll back run user-defined code.
    mayChangeSession: end === "rollback",
  };
}

/** Columns of the result row before the body, as text. Empty if the statement returned no row. */
export type ResultColumns = readonly (string | null)[];

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

/** Discards an unread body, so that its connection can be used again. */
export function discardBody({ content }: ResultBody): void {
  if (content instanceof ReadableStream) content.cancel().catch(() => {});
}

/** A transaction that was begun, and waits for its end. If a statement fails, the transaction rolls back. */
export interface OpenTransaction {
  /** Executes further statements, and resolves with their result. A call awaits the result of the one before it. */
  send(statements: readonly Statement[]): Promise<TransactionResult>;
  /** Ends the transaction, in one write with its last statements. Resolves with their result. */
  end(end: TransactionEnd, last?: readonly Statement[]): Promise<TransactionResult>;
}

export interface TransactionResult {
  /** `open` before the end of the transaction. */
  readonly end: TransactionEnd | "open";
  readonly open?: OpenTransaction;
  readonly columns: ResultColumns;
  readonly body: ResultBody;
  /** Rows of each statement with `use: "rows"`, by its position; other results are empty. */
  readonly rows: readonly (readonly (readonly (string | null)[])[])[];
  /**
   * Position that a later read must have reached to see what this transaction wrote or saw; an
   * opaque text. Absent or null if there is no position: the transaction wants none, rolled back,
   * or the position is unknown.
   */
  readonly bookmark?: string | null;
  /** The server's position after the transaction; absent if it was not read. */
  readonly walPosition?: WalPosition;
}
