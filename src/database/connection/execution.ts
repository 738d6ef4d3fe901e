/** The execution of a transaction: the statement that the server executes, and the fate of the
 * transaction. @module */
import { DatabaseError, type DatabaseFailure } from "../../base/errors/service_error.ts";
import type {
  AccessMode,
  IsolationLevel,
  OpenTransaction,
  Statement,
  Transaction,
  TransactionEnd,
  TransactionEvents,
  TransactionResult,
  WalPosition,
} from "../transaction.ts";
import type { RowRun } from "../protocol/decoder.ts";
import type { BodyReceiver, BodyReceiverOptions } from "./body_receiver.ts";
import { positionCheck, positionStatement, readPosition } from "../wal_position.ts";
import { type ReturningStatement, TransactionResults } from "./results.ts";
import type { ServerError } from "../protocol/server_error.ts";

export interface ResultSettler {
  readonly resolve: (result: TransactionResult) => void;
  readonly reject: (error: unknown) => void;
}

export interface PendingTransaction extends ResultSettler {
  readonly transaction: Transaction;
  /** Default: no receiver. */
  readonly events?: TransactionEvents | null;
}

export interface StatementInFlight extends ReturningStatement {
  readonly text: string;
  readonly runsUserCode: boolean;
  /** `planContext` of the prepared statement; null if the statement is valid in all contexts. */
  readonly context: string | null;
  /** Name of the prepared statement that this execution creates, or null. */
  readonly preparing: string | null;
}

/** How an execution begins and ends: as its transaction requires, or as a savepoint. */
export type ExecutionForm = "implicit" | "block" | "savepoint";

/** State of the promises of the results. */
type Settlement = "pending" | "resolved" | "rejected" | "requeued";

/** One transaction, from its sending to its end. */
export class TransactionExecution {
  readonly pending: PendingTransaction;
  readonly form: ExecutionForm;
  /** Whether this is the second attempt. The server refused the first one before it began. */
  readonly isRetry: boolean;
  /** Whether ROLLBACK was sent after an error. */
  isRollingBack = false;
  failure: unknown = null;
  /** Whether the server closed the connection during this transaction, so it executed no later transaction. */
  wasTerminated = false;
  readonly #results: TransactionResults;
  #settlement: Settlement = "pending";
  /** Settles the result of the statements in flight; null between steps of an open transaction. */
  #settler: ResultSettler | null;
  #statements: readonly StatementInFlight[] = [];
  /** Statements that undo changes of the session by functions. */
  readonly #cleanup: readonly Statement[];
  /** Number of statements at the beginning that undo changes of the session by earlier transactions. */
  #cleanupLength = 0;
  /** Position after the last statement, which ends the transaction. */
  #endPosition = 0;
  /** Number of statements that the connection inserted before the transaction's statements: BEGIN, a
   * check of the position. */
  #preambleLength = 0;
  /** Position of the statement that reads the WAL position after the transaction, or null. */
  #positionReading: number | null = null;
  #walPosition: WalPosition | null = null;
  /** Position of the statement that the server executes. */
  #position = 0;
  #isBound = false;
  #hasBegun = false;
  /** Whether the server closed the connection before the transaction began. */
  #isTerminatedUnbegun = false;
  /** Whether a statement that runs user-defined code has completed. */
  #hasRunUserCode = false;
  /** Whether a part of the result was returned. */
  #hasAnswered = false;
  /** Whether the server refused the transaction before any of its effects. */
  #isRefusedUnbegun = false;
  #end: TransactionEnd | "open";

  constructor(
    pending: PendingTransaction,
    { form, body, isRetry = false, cleanup = [] }: {
      readonly form: ExecutionForm;
      readonly body: BodyReceiverOptions;
      readonly isRetry?: boolean;
      /** Statements that undo changes of the session by the transaction. Default: none. */
      readonly cleanup?: readonly Statement[];
    },
  ) {
    this.pending = pending;
    this.form = form;
    this.isRetry = isRetry;
    this.#cleanup = cleanup;
    this.#results = new TransactionResults(body, pending.transaction);
    this.#end = pending.transaction.block?.end ?? "commit";
    this.#settler = pending;
  }

  get transaction(): Transaction {
    return this.pending.transaction;
  }

  get body(): BodyReceiver {
    return this.#results.body;
  }

  get isEndSent(): boolean {
    return this.#end !== "open";
  }

  /** Whether an open transaction can continue. */
  get awaitsStep(): boolean {
    return this.#settler === null && this.failure === null && !this.isEndSent;
  }

  get isSettled(): boolean {
    return this.#settlement !== "pending";
  }

  get statement(): StatementInFlight | undefined {
    return this.#statements[this.#position];
  }

  /** Cleanup with which the next transaction begins if this one is implicit. A block runs its
   * cleanup at its end. */
  get cleanupBehind(): readonly Statement[] {
    return this.form === "implicit" ? this.#cleanup : [];
  }

  /** Whether the server executes a statement that undoes changes of the session. */
  get isCleaning(): boolean {
    return this.#position < this.#cleanupLength;
  }

  /** Whether the execution begins with statements that undo changes of the session. */
  get beginsClean(): boolean {
    return this.#cleanupLength > 0;
  }

  statementsToSend(cleanup: readonly Statement[] = []): readonly Statement[] {
    const { statements, walPosition } = this.transaction;
    this.#cleanupLength = cleanup.length;
    if (this.form === "implicit" && walPosition === undefined) {
      this.#preambleLength = cleanup.length;
      return cleanup.length === 0 ? statements : [...cleanup, ...statements];
    }
    const preamble = [...cleanup, ...this.#preamble()];
    this.#preambleLength = preamble.length;
    if (this.form === "implicit") return this.#withPosition([...preamble, ...statements]);
    return this.#withEnd([...preamble, ...statements]);
  }

  /** Returns the statements that end the transaction in a second write, after an error. */
  rollbackStatements(): readonly Statement[] {
    this.#cleanupLength = 0;
    return [...endStatementsOf(this.form, "rollback"), ...this.#blockCleanup];
  }

  get #blockCleanup(): readonly Statement[] {
    return this.form === "block" ? this.#cleanup : [];
  }

  #preamble(): readonly Statement[] {
    const { block, access, walPosition } = this.transaction;
    if (this.form === "savepoint") return savepointStatements[access];
    const min = walPosition?.minReplayed ?? null;
    const checks = min === null ? [] : [positionCheck(min)];
    if (this.form === "implicit") return checks;
    const isolation = block?.isolation ?? "read committed";
    const begin = beginStatements[access][isolation];
    if (min === null || isolation === "read committed") return [begin, ...checks];
    // A transaction before the block checks, so that the snapshot is not older than the check.
    return [beginStatements[access]["read committed"], ...checks, endStatements.commit, begin];
  }

  /** Adds COMMIT or ROLLBACK, unless the transaction stays open. */
  #withEnd(statements: readonly Statement[]): readonly Statement[] {
    if (this.#end === "open") return statements;
    const ended = this.#withPosition([...statements, ...endStatementsOf(this.form, this.#end)]);
    return [...ended, ...this.#blockCleanup];
  }

  /** Adds the statement that reads the WAL position, if the transaction requests it and commits. */
  #withPosition(statements: readonly Statement[]): readonly Statement[] {
    if (!this.transaction.walPosition?.isReturned || this.#end === "rollback") return statements;
    this.#positionReading = statements.length;
    // After COMMIT, the statement runs as the login role, so functions must not replace its text.
    return [...statements, { ...positionStatement, isUnnamed: this.#blockCleanup.length > 0 }];
  }

  /** Returns the statements of a further step. `end` is null if the transaction stays open after it. */
  stepToSend(
    statements: readonly Statement[],
    end: TransactionEnd | null,
    settler: ResultSettler,
  ): readonly Statement[] {
    this.#settler = settler;
    if (end !== null) this.#end = end;
    this.#preambleLength = 0;
    this.#cleanupLength = 0;
    const all = this.#withEnd(statements);
    this.#results.beginStep(all);
    return all;
  }

  /** Handles ReadyForQuery within the open transaction: resolves the result of the finished statements. */
  resolveStep(open: OpenTransaction): void {
    this.#hasAnswered = true;
    const settler = this.#settler!;
    this.#settler = null;
    settler.resolve(this.#result(open));
  }

  /** Records statements that were written, to match the replies. */
  sent(statements: readonly StatementInFlight[]): void {
    this.#statements = statements;
    this.#endPosition = statements.length - (this.isEndSent ? this.#blockCleanup.length : 0);
    this.#position = 0;
    this.#isBound = false;
  }

  /** Handles BindComplete: the server executes the next statement. */
  bound(): void {
    this.#isBound = true;
    this.#hasBegun ||= !this.isCleaning;
  }

  /** Handles CommandComplete and EmptyQueryResponse, which end a statement. */
  completed(): void {
    const { statement } = this;
    if (statement !== undefined) {
      this.#hasRunUserCode ||= statement.runsUserCode;
      if (statement.framing !== undefined) this.#results.receiverOf(statement).end();
      if (statement.use === "held") this.#emitHeld();
    }
    this.#position++;
    this.#isBound = false;
  }

  #emitHeld(): void {
    const result = this.#results.takeHeld();
    if (this.failure === null) this.pending.events?.held(result);
  }

  /** Position among the statements that were written together, without the preamble. */
  get #statementPosition(): number {
    return this.#position - this.#preambleLength;
  }

  /** Handles ErrorResponse: the server skips the rest of the transaction. */
  failed(error: ServerError): void {
    const { failure } = error;
    this.wasTerminated ||= error.isFatal;
    // The first error is kept: an error of ROLLBACK would hide it.
    if (this.failure !== null) return;
    this.#isTerminatedUnbegun = error.isFatal && !this.#hasBegun;
    this.#isRefusedUnbegun = !this.#hasRunUserCode &&
      (this.isCleaning || this.#isStale(error) || this.#isOnOtherDefaults(failure));
    this.failure = new DatabaseError(failure, this.#statementPosition);
    if (!this.body.streaming) return;
    this.body.fail(this.failure);
    this.body.resume();
    this.#settlement = "rejected";
  }

  /** Returns whether a prepared statement is unknown to the server, or can no longer run as planned. */
  #isStale({ isStale }: ServerError): boolean {
    // An error after all statements belongs to the commit, so no statement is stale.
    return isStale && this.statement !== undefined && !this.#isBound;
  }

  /** Returns whether the session has other defaults, which the first statement checks. */
  #isOnOtherDefaults({ sqlstate }: DatabaseFailure): boolean {
    const isFirst = this.#position === this.#preambleLength;
    return this.form === "implicit" && isFirst && sqlstate === activeTransaction;
  }

  /** Whether the transaction can be sent again, because it had no visible effect. */
  get mayRetry(): boolean {
    return this.#isRefusedUnbegun && !this.isRetry && !this.isSettled && !this.#hasAnswered;
  }

  /** Whether the server closed the connection before it executed any of the statements. */
  get wasTerminatedUnbegun(): boolean {
    return this.#isTerminatedUnbegun && !this.isSettled;
  }

  get hasEnded(): boolean {
    const isCertain = this.form === "block" || this.transaction.access === "read only";
    const isSent = this.#statements.length > 0;
    return isSent && isCertain && this.isEndSent && this.failure === null &&
      this.#position >= (this.#positionReading ?? this.#endPosition);
  }

  /** Resolves the result after the end of the transaction, unless it is settled. */
  resolve(): void {
    if (this.isSettled) return;
    this.#settlement = "resolved";
    this.#settler!.resolve(this.#result(null));
  }

  #result(open: OpenTransaction | null): TransactionResult {
    const result = { end: this.#end, ...this.#results.take() };
    if (open !== null) return { ...result, end: "open", open };
    return this.#walPosition === null ? result : { ...result, walPosition: this.#walPosition };
  }

  /** Rejects the pending result, unless it is settled. */
  reject(error: unknown): void {
    if (this.isSettled) return;
    this.#settlement = "rejected";
    this.#settler?.reject(error);
  }

  requeue(): PendingTransaction {
    this.#settlement = "requeued";
    return this.pending;
  }

  wantsRow(): boolean {
    if (this.failure !== null || this.statement === undefined) return false;
    if (this.#settlement === "resolved") return this.statement.framing !== undefined;
    return this.#settlement === "pending" && this.statement.use !== "none";
  }

  /** Returns the rows that continue the body; null if the next row does not continue it. */
  rowRun(): RowRun | null {
    const statement = this.statement!;
    if (statement.framing === undefined) return null;
    const receiver = this.#results.receiverOf(statement);
    return receiver.started ? receiver.openRun() : null;
  }

  rowStart(head: readonly (string | null)[], length: number | null): void {
    this.failure ??= this.#results.startRow(this.statement!, head, length);
  }

  rowBytes(bytes: Uint8Array): void {
    this.failure ??= this.#results.push(this.statement!, bytes);
  }

  rowEnd(): void {
    const row = this.#results.endRow(this.statement!, this.#statementPosition);
    if (row !== null && this.#position === this.#positionReading) {
      this.#walPosition = readPosition(row);
    }
  }
}

/** SQLSTATE of a change of the isolation level in a transaction that has begun. */
const activeTransaction = "25001";

const beginStatements: Readonly<Record<AccessMode, Readonly<Record<IsolationLevel, Statement>>>> = {
  "read only": {
    "read committed": control("begin isolation level read committed read only"),
    "repeatable read": control("begin isolation level repeatable read read only"),
    "serializable": control("begin isolation level serializable read only"),
  },
  "read write": {
    "read committed": control("begin isolation level read committed read write"),
    "repeatable read": control("begin isolation level repeatable read read write"),
    "serializable": control("begin isolation level serializable read write"),
  },
};

const endStatements: Readonly<Record<TransactionEnd, Statement>> = {
  commit: control("commit"),
  rollback: control("rollback"),
};

/** Returns the statements that end an execution. A savepoint always rolls back. */
export function endStatementsOf(form: ExecutionForm, end: TransactionEnd): readonly Statement[] {
  return form === "savepoint" ? savepointEnd : [endStatements[end]];
}

const savepoint = control("savepoint svc_case");

/** Statements of a savepoint, which cannot change the isolation level. */
const savepointStatements: Readonly<Record<AccessMode, readonly Statement[]>> = {
  "read only": [savepoint, control("set local transaction_read_only = on")],
  "read write": [savepoint],
};

/** Rolls back and releases a savepoint. Without RELEASE, the next savepoints would nest in it. */
const savepointEnd: readonly Statement[] = [
  control("rollback to savepoint svc_case"),
  control("release savepoint svc_case"),
];

function control(text: string): Statement {
  return { text, params: [], use: "none", isShared: true };
}
