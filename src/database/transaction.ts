/**
 * Transactions as data: statements, how the transaction begins and ends, and its result. @module
 */
import type { ParamValue } from "../base/sql/fragment.ts";

export type ResultUse =
  | "none"
  | "rows"
  /** The result is one row. Its last column is the body; the other columns are kept as text. */
  | "result"
  /** Like `result`, but for several statements. Their bodies are complete, and are passed to
   * {@linkcode TransactionEvents}. */
  | "held";

/**
 * How further rows of a statement with `use: "result"` or `"held"` continue its body. The last
 * column of the first row is a complete body: it is empty or ends with `closing`. Each further row
 * puts `separator` and its last column before `closing`; its other columns are ignored. Both texts
 * are ASCII, and short.
 */
export interface BodyFraming {
  /** Text between two rows. It is left out before the first row after an empty body. */
  readonly separator: string;
  readonly closing: string;
  /** Number of bytes that are removed at both ends of the values of further rows. Default: 0. */
  readonly trimmedBytes?: number;
  /** Whether streaming of the body begins with the first further row, even of a short body. Default: false. */
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
  /** Purpose of the statement. Default: none, for statements that no request causes. */
  readonly role?: StatementRole;
  /** Position of the batch operation to which the statement belongs. Default: the whole transaction. */
  readonly operation?: number;
  /** SQL with `$1` …. The text is also the key of its prepared statement. */
  readonly text: string;
  readonly params: readonly ParamValue[];
  readonly use: ResultUse;
  /** Parses each row when it arrives, so that the texts are not kept. The row has one column.
   * `rows` of the result has the parsed values. Default: the texts. */
  readonly parse?: ((text: string) => unknown) | undefined;
  /** Present if further rows of the result may continue the body. */
  readonly framing?: BodyFraming;
  /** Whether the statement can run user-defined code, so that the transaction is not retried
   * afterwards. Default: false. */
  readonly runsUserCode?: boolean;
  /** Whether one prepared statement is valid for all roles and search paths. Default: false. */
  readonly isShared?: boolean;
  /** Whether it is prepared without a name. User-defined functions could replace a named statement.
   * Default: false. */
  readonly isUnnamed?: boolean;
  /** Whether the text contains values, so that it is neither prepared nor logged. Default: false. */
  readonly hasValues?: boolean;
  /** Search path and role that the statement is prepared for. Default: `planContext` of the transaction. */
  readonly planContext?: string;
}

export type AccessMode = "read only" | "read write";
export type IsolationLevel = "read committed" | "repeatable read" | "serializable";

export type TransactionEnd = "commit" | "rollback";

/** How BEGIN and COMMIT or ROLLBACK enclose a transaction. */
export interface TransactionBlock {
  readonly isolation: IsolationLevel;
  /** `open`: the caller ends the transaction by {@linkcode OpenTransaction}, in a second write. */
  readonly end: TransactionEnd | "open";
}

interface TransactionCommon {
  /**
   * Null for an implicit transaction, which only Sync delimits: it is `read committed` and commits.
   * Its first statement sets the access mode and checks the isolation level, so that it fails with
   * 25001 on a connection with other defaults. Implicit transactions can be pipelined, because a
   * failed one leaves no open transaction. A connection without prepared statements always uses a
   * block, because the connection may lead to a pooler.
   */
  readonly block: TransactionBlock | null;
  /** Run in order; the first failure ends the transaction. At most one of them has `use: "result"`. */
  readonly statements: readonly Statement[];
  /**
   * Search path and role of the transaction, as one text, for which its statements are prepared;
   * null for the defaults of the connection. PostgreSQL plans a statement again when search path or
   * role differ. Only when it plans a statement, it checks EXECUTE on functions that it inlines.
   */
  readonly planContext: string | null;
  /** Whether the pool emits events for the transaction. Default: true. */
  readonly isTraced?: boolean;
  /** Equal for transactions that differ only by their parameters; null to prevent pipelining. */
  readonly kind: object | null;
  /**
   * Maximum total bytes of results with `use: "held"`. If it is exceeded, the promise rejects with
   * `141`. The transaction then rolls back, unless its end was sent together with its statements.
   * Default: no limit.
   */
  readonly maxHeldBytes?: number;
  /**
   * Whether the result has a bookmark. The position of a write is read after its COMMIT, in the
   * same write to the socket. The position of a read covers everything that the read saw. Default:
   * false.
   */
  readonly wantsBookmark?: boolean;
  /** Whether functions may leave settings, locks or tables in the session, which must then be
   * undone. Default: false. */
  readonly mayChangeSession?: boolean;
  /** Positions in the write-ahead log to check and to return. Default: none. */
  readonly walPosition?: WalPositionUse;
}

/** A place in the write-ahead log. */
export interface WalPosition {
  readonly lsn: bigint;
  /** Lowest position that covers every commit that transactions on the server have seen. */
  readonly shownLsn: bigint;
  /** Null for a standby, because only privileged roles can read the timeline of a standby. */
  readonly timeline: number | null;
}

interface WalPositionUse {
  /** Minimum position that a standby must have replayed; otherwise the transaction fails before its
   * first statement. Null for no condition. */
  readonly minReplayed: bigint | null;
  /** Whether the result contains the server's position after the transaction. */
  readonly isReturned: boolean;
}

export interface StandbyUse {
  /** The client's bookmarks, separated by commas, or null. If one is malformed, or if they cannot
   * be compared, the primary executes the read. */
  readonly bookmark: string | null;
  /** Age of the schema cache that the read was planned with, in milliseconds. A standby with a
   * greater lag may lack objects of the read, so it is not chosen. Default: no limit. */
  readonly schemaAgeMs?: number;
}

/** Receives the progress of a transaction. A transaction that is sent again calls `begun` again. */
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
  /**
   * `stream` returns a large body while it arrives. `hold` collects it until the transaction ends.
   */
  readonly body: "stream" | "hold";
  /** `safe`: a second execution has no observable effect. */
  readonly retry: "safe" | "never";
  /** Present if a standby may execute the transaction. Default: only the primary may. */
  readonly standby?: StandbyUse;
}

/** A transaction that may write. Its body is returned after the end is confirmed. PostgreSQL never
 * executes it twice. */
export interface WriteTransaction extends TransactionCommon {
  readonly access: "read write";
}

export type Transaction = ReadTransaction | WriteTransaction;

/**
 * Resets role and search path, which a function may have changed on the connection. With this
 * search path, only names of `pg_catalog` need no schema, and PostgreSQL qualifies all other names
 * in its output.
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

/** Limits the time to wait for a lock, for example of DDL in a transaction that stays open. */
export const lockTimeout: Statement = {
  text: "set local lock_timeout to '5s'",
  params: [],
  use: "none",
};

/** Returns a read-only transaction for statements of svc. Its search path contains only `pg_catalog`. */
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
    // Callers choose `rollback` for user-defined code, which may change the session.
    mayChangeSession: end === "rollback",
  };
}

/** Columns of the result row before the body, as text. Empty if the statement returned no row. */
export type ResultColumns = readonly (string | null)[];

export interface ResultBody {
  /** Length in bytes; null for SQL NULL, if there is no row, and while the length is unknown. */
  readonly length: number | null;
  /** The bytes if all have arrived; otherwise a stream with back-pressure. */
  readonly content: Uint8Array | ReadableStream<Uint8Array>;
  /** Resolves with the error that interrupts the stream; absent for bytes. */
  readonly failure?: Promise<unknown> | undefined;
  /** Resolves when the stream has ended, failed or was cancelled; absent for bytes. */
  readonly ended?: Promise<void> | undefined;
}

/** Discards an unread body, so that its connection can be used again. */
export function discardBody({ content }: ResultBody): void {
  if (content instanceof ReadableStream) content.cancel().catch(() => {});
}

/** A transaction that has begun, and that the caller must end. If a statement fails, it rolls back. */
export interface OpenTransaction {
  /** Executes further statements, and resolves with their result. A later call waits for the earlier one. */
  send(statements: readonly Statement[]): Promise<TransactionResult>;
  /** Executes the last statements and ends the transaction, in one write. Resolves with their result. */
  end(end: TransactionEnd, last?: readonly Statement[]): Promise<TransactionResult>;
}

export interface TransactionResult {
  /** How the transaction has ended; `open` if the caller must still end it. */
  readonly end: TransactionEnd | "open";
  readonly open?: OpenTransaction;
  readonly columns: ResultColumns;
  readonly body: ResultBody;
  /** Rows of each statement with `use: "rows"`, by its position; other results are empty. */
  readonly rows: readonly (readonly (readonly (string | null)[])[])[];
  /**
   * Position that a later read must have reached to see what this transaction wrote or saw; an
   * opaque text. Absent or null if none was requested, if the transaction rolled back, or if the
   * position is unknown.
   */
  readonly bookmark?: string | null;
  /** The server's position after the transaction; absent if it was not read. */
  readonly walPosition?: WalPosition;
}
