/** One connection: writes transactions, each followed by a Sync, and reads the replies. @module */
import { errors } from "../../base/errors/catalogue.ts";
import type { DatabaseFailure } from "../../base/errors/service_error.ts";
import type {
  OpenTransaction,
  Statement,
  Transaction,
  TransactionEnd,
  TransactionResult,
} from "../transaction.ts";
import type { Clock } from "../../base/lib/clock.ts";
import type { BodySpool } from "../../base/lib/body_spool.ts";
import type { Transport } from "../transport.ts";
import { CancelRequests } from "./cancel_requests.ts";
import { ParameterChanges } from "./parameter_changes.ts";
import { FrameDecoder, type FrameSink } from "../protocol/decoder.ts";
import { backend, readNotification, type ServerNotification } from "../protocol/messages.ts";
import { type ExecutionForm, type PendingTransaction, TransactionExecution } from "./execution.ts";
import type { BodyReceiver, BodyReceiverOptions } from "./body_receiver.ts";
import {
  duplicateStatement,
  readServerError,
  type ServerError,
  type StaleStatement,
  unknownStatement,
} from "../protocol/server_error.ts";
import { cleanupStatements, emptyTransaction } from "./session_cleanup.ts";
import { type PreparingOptions, StatementWriter } from "./statement_writer.ts";

export interface ConnectionOptions extends PreparingOptions {
  /** SQL that runs before the first transaction. It changes the session, so a connection to a
   * pooler must not have it. */
  readonly setup?: string;
  /** `savepoint`: a transaction is open on the transport. Each transaction is a savepoint in it,
   * which rolls back. Default: `own`. */
  readonly transactions?: "own" | "savepoint";
  /** Whether readers of bodies keep no chunk of them. Default: false. */
  readonly freesChunks?: boolean;
  /** Stores unread bytes. Without a spool, a slow reader occupies the connection. */
  readonly spool?: BodySpool;
  /** Measures how long readers delay the connection, and times cancel requests. */
  readonly clock: Pick<Clock, "now" | "schedule">;
}

/** Events of a connection. Default: nothing is called. */
export interface ConnectionEvents {
  idle?(): void;
  closed?(reason: string): void;
  /** Called with a notification of a channel that the session listens to. */
  notified?(notification: ServerNotification): void;
  /**
   * Called with sent transactions that must be executed elsewhere. Default: they fail with `001`.
   */
  requeued?(transactions: readonly PendingTransaction[]): void;
  /** Called when the server does not have a statement that was prepared (26000), or already has one
   * of that name (42P05). */
  statementForgotten?(sqlstate: StaleStatement): void;
  /** Called when the server has finished a transaction; `bodyLength` is null without a body. */
  finished?(
    transaction: PendingTransaction,
    result: "success" | "failure",
    bodyLength: number | null,
  ): void;
}

type ConnectionState = "idle" | "busy" | "closed";

export class Connection {
  readonly #writer: StatementWriter;
  readonly #decoder: FrameDecoder;
  #state: ConnectionState = "idle";
  /** Executions that were written and not finished, in order. The server executes the first. */
  #inFlight: TransactionExecution[] = [];
  /** Executions to write again, because the server refused them before they began. */
  #retries: TransactionExecution[] = [];
  /** SQL that begins the next write; null once it is sent. */
  #setup: string | null;
  readonly #cancelRequests: CancelRequests;
  readonly #parameters: ParameterChanges;
  /** Whether the reply to {@linkcode #setup} is pending. */
  #isSettingUp = false;

  constructor(
    private readonly transport: Transport,
    private readonly options: ConnectionOptions,
    private readonly events: ConnectionEvents = {},
  ) {
    this.#setup = this.#connectionSetup;
    this.#writer = new StatementWriter(options);
    this.#decoder = new FrameDecoder(this.#frameSink());
    this.#parameters = new ParameterChanges(transport.parameters);
    this.#cancelRequests = new CancelRequests({
      send: () => transport.cancel!(),
      onSilent: () => this.destroy("the server did not answer a cancel request within 5 s"),
      clock: options.clock,
    });
    transport.listen({
      data: (chunk) => this.#receive(chunk),
      closed: (reason) => this.#lost(reason),
    });
  }

  get state(): ConnectionState {
    return this.#state;
  }

  /** Sends transactions in one write. If there are several, each must be implicit: a block that fails
   * would stay open for the transactions after it. */
  execute(transactions: readonly PendingTransaction[]): void {
    if (this.#state === "closed") {
      for (const { reject } of transactions) reject(errors.connectionLost(null));
      return;
    }
    this.#state = "busy";
    try {
      for (const { events } of transactions) events?.begun();
      this.#write(transactions.map((pending) => this.#executionOf(pending)));
    } catch (error) {
      // A value too long for the memory leaves half a message in the buffer: close the connection.
      const reason = error instanceof Error ? error.message : "encoding failed";
      const unwritten = this.#inFlight.length === 0 ? transactions : [];
      this.destroy(reason);
      for (const { reject } of unwritten) reject(errors.connectionLost(reason));
    }
  }

  /** Cancels the running statement. Closes the connection if it still runs after 5 s. */
  cancel(): void {
    if (this.#current === undefined || this.transport.cancel === undefined) return;
    this.#cancelRequests.start();
  }

  /** Requeues the pending transactions that can safely be sent again. Returns transactions that
   * stay on this connection, because the server may already have executed them. */
  requeuePending(): readonly PendingTransaction[] {
    this.#requeue(this.#pending().filter(isSafe));
    return this.#inFlight.filter(({ isSettled, body }) => !isSettled || body.streaming)
      .map(({ pending }) => pending);
  }

  /** The body of the running transaction; undefined while none runs. */
  get body(): BodyReceiver | undefined {
    return this.#current?.body;
  }

  destroy(reason: string): void {
    if (this.#state === "closed") return;
    this.#lost(reason);
    this.transport.destroy();
  }

  end(): void {
    if (this.#state === "closed") return;
    this.#state = "closed";
    this.transport.end();
    this.events.closed?.("ended");
  }

  get #current(): TransactionExecution | undefined {
    return this.#inFlight[0];
  }

  get #connectionSetup(): string | null {
    return this.#sharesSession ? null : this.options.setup ?? null;
  }

  get #sharesSession(): boolean {
    const { prepare, sharesSession = !prepare } = this.options;
    return sharesSession;
  }

  get #usesSavepoints(): boolean {
    return this.options.transactions === "savepoint";
  }

  #executionOf(pending: PendingTransaction, isRetry = false): TransactionExecution {
    const { transaction } = pending;
    const shared: ExecutionForm = this.#usesSavepoints ? "savepoint" : "block";
    const form = this.#sharesSession || transaction.block !== null ? shared : "implicit";
    const cleanup = transaction.mayChangeSession === true ? this.#cleanupOf(transaction) : [];
    return new TransactionExecution(pending, {
      form,
      body: this.#bodyOptions(pending),
      isRetry,
      cleanup,
    });
  }

  #cleanupOf({ access }: Transaction): readonly Statement[] {
    const state = { names: this.options.prepare, defaults: this.#connectionSetup !== null };
    return cleanupStatements(state, access);
  }

  #bodyOptions({ transaction }: PendingTransaction): BodyReceiverOptions {
    const { clock, freesChunks = false, spool = null } = this.options;
    const mayStream = transaction.access === "read only" && transaction.body === "stream";
    return { transport: this.transport, mayStream, freesChunks, spool, now: clock.now };
  }

  #write(executions: TransactionExecution[]): void {
    this.#inFlight = executions;
    if (executions.some(({ cleanupBehind }) => cleanupBehind.length > 0)) {
      const last = this.#executionOf(emptyTransaction);
      last.requeue();
      this.#inFlight = [...executions, last];
    }
    const setup = this.#setup;
    this.#setup = null;
    this.#isSettingUp ||= setup !== null;
    this.transport.write(this.#writer.write(this.#inFlight, setup));
  }

  /** Executions after the running one, and executions that are to be written once more. */
  #pending(): readonly TransactionExecution[] {
    return [...this.#retries, ...this.#inFlight.slice(1)].filter(({ isSettled }) => !isSettled);
  }

  #requeue(executions: readonly TransactionExecution[], reason: string | null = null): void {
    if (executions.length === 0) return;
    const transactions = executions.map((execution) => execution.requeue());
    if (this.events.requeued !== undefined) return this.events.requeued(transactions);
    for (const { reject } of transactions) reject(errors.connectionLost(reason));
  }

  #receive(chunk: Uint8Array): void {
    try {
      this.#decoder.push(chunk);
    } catch (error) {
      return this.destroy(error instanceof Error ? error.message : "protocol error");
    }
    const current = this.#current;
    if (current !== undefined && this.#isStreamable(current)) {
      this.#requeue(this.#pending().filter(isSafe));
      current.resolve();
    }
  }

  /** Returns whether a body is arriving that is too large to wait for its end. */
  #isStreamable(execution: TransactionExecution): boolean {
    const { transaction, body, failure, isSettled, isEndSent } = execution;
    return !isSettled && failure === null && isEndSent && body.isLarge &&
      transaction.access === "read only" && transaction.body === "stream";
  }

  #frameSink(): FrameSink {
    return {
      event: (type) => this.#event(type),
      message: (type, payload) => this.#message(type, payload),
      wantsRow: () => !this.#isSettingUp && (this.#current?.wantsRow() ?? false),
      rowRun: () => this.#current!.rowRun(),
      rowStart: (head, length) => this.#current?.rowStart(head, length),
      rowBytes: (bytes) => this.#current?.rowBytes(bytes),
      rowEnd: () => this.#current?.rowEnd(),
    };
  }

  #event(type: number): void {
    const current = this.#current;
    if (current === undefined || this.#isSettingUp) return;
    if (type === backend.bindComplete) current.bound();
    else if (type === backend.commandComplete || type === backend.emptyQuery) current.completed();
    else if (type === backend.parseComplete && current.statement !== undefined) {
      this.#writer.remember(current.statement);
    }
  }

  #message(type: number, payload: Uint8Array): void {
    switch (type) {
      case backend.error:
        return this.#failed(readServerError(payload, this.#current?.statement?.text));
      case backend.ready:
        return this.#ready(payload[0] ?? 0);
      case backend.parameterStatus:
        return this.#parameters.take(payload);
      case backend.notification:
        return this.events.notified?.(readNotification(payload));
      case backend.copyIn:
      case backend.copyOut:
      case backend.copyBoth:
        return this.destroy("COPY cannot be run here");
      default:
        return;
    }
  }

  #failed(error: ServerError): void {
    const { failure } = error;
    const current = this.#current;
    if (current === undefined) return this.destroy(failure.message);
    if (this.#isSettingUp && !endsConnection(failure)) return;
    // The server closes the connection after it has confirmed COMMIT: the transaction is done.
    if (current.hasEnded) {
      current.resolve();
      return endsConnection(failure) ? undefined : this.destroy(failure.message);
    }
    const isUndoing = current.isCleaning || current.isRollingBack;
    this.#writer.skipped();
    current.failed(error);
    if (error.isStale) this.#writer.forget();
    const { sqlstate } = failure;
    if (error.isStale && (sqlstate === unknownStatement || sqlstate === duplicateStatement)) {
      this.events.statementForgotten?.(sqlstate);
    }
    // The connection is unusable: the cleanup failed, so the session may keep changes of functions.
    if (isUndoing) this.destroy(failure.message);
  }

  /** Handles ReadyForQuery: `status` is `I` (idle), `T` (in a transaction) or `E` (in a failed one). */
  #ready(status: number): void {
    const current = this.#current;
    if (current === undefined) return;
    if (this.#isSettingUp) {
      this.#isSettingUp = false;
      return;
    }
    if (current.failure !== null) return this.#endFailed(current, status);
    if (!current.isEndSent) return current.resolveStep(this.#opened(current));
    if (status !== (this.#usesSavepoints ? openStatus : idleStatus)) {
      return this.destroy("a transaction was left open");
    }
    current.resolve();
    this.#finished(current);
  }

  #endFailed(current: TransactionExecution, status: number): void {
    const { mayRetry } = current;
    const isOpen = this.#usesSavepoints
      ? !current.isRollingBack || status !== openStatus
      : status !== idleStatus;
    // A write is rejected after ROLLBACK: a repetition must not wait for locks of this attempt.
    const awaitsRollback = isOpen && current.transaction.access === "read write";
    if (!mayRetry && !awaitsRollback) current.reject(current.failure);
    if (isOpen) {
      if (current.isRollingBack) return this.destroy("ROLLBACK failed");
      current.isRollingBack = true;
      return this.transport.write(
        this.#writer.writeStatements(current, current.rollbackStatements()),
      );
    }
    if (mayRetry) {
      // The setup runs again: a function may have changed defaults of the connection.
      this.#setup = this.#connectionSetup;
      this.#retries.push(this.#executionOf(current.pending, true));
    }
    this.#finished(current);
  }

  #opened(execution: TransactionExecution): OpenTransaction {
    return {
      send: (statements) => this.#continue(execution, statements, null),
      end: (end, last = []) => this.#continue(execution, last, end),
    };
  }

  /** Sends further statements of an open transaction. */
  #continue(
    execution: TransactionExecution,
    statements: readonly Statement[],
    end: TransactionEnd | null,
  ): Promise<TransactionResult> {
    return new Promise((resolve, reject) => {
      if (execution !== this.#current || !execution.awaitsStep) {
        return reject(execution.failure ?? errors.connectionLost(null));
      }
      const all = execution.stepToSend(statements, end, { resolve, reject });
      try {
        this.transport.write(this.#writer.writeStatements(execution, all));
      } catch (error) {
        this.destroy(error instanceof Error ? error.message : "encoding failed");
      }
    });
  }

  /** Handles the end of an execution. The server continues with the next one, or is idle. */
  #finished({ pending, failure, body }: TransactionExecution): void {
    const changed = this.#parameters.first;
    if (changed !== undefined && !this.#inFlight[1]?.beginsClean) {
      // The connection ends, because later transactions may have used another encoding or style.
      return this.destroy(`a function changed ${changed}`);
    }
    if (pending !== emptyTransaction) {
      this.events.finished?.(pending, failure === null ? "success" : "failure", body.length);
    }
    this.#inFlight.shift();
    this.#cancelRequests.stop();
    if (this.#inFlight.length > 0) return;
    const retries = this.#retries.filter(({ isSettled }) => !isSettled);
    const [next] = retries;
    // Retries are sent one by one, because transactions of different forms cannot share a write.
    this.#retries = retries.slice(1);
    if (next !== undefined) return this.#retry(next);
    this.#state = "idle";
    this.events.idle?.();
  }

  /** Writes an execution again, after the setup: the execution before it may have changed the defaults. */
  #retry(execution: TransactionExecution): void {
    this.#setup = this.#connectionSetup;
    this.#write([execution]);
  }

  #lost(reason: string): void {
    if (this.#state === "closed") return;
    this.#state = "closed";
    const current = this.#current;
    // A current transaction that the server has not begun is requeued, too.
    const isUnbegun = current !== undefined && (current.mayRetry || current.wasTerminatedUnbegun);
    const unbegun = isUnbegun ? [current] : [];
    const pending = [...unbegun, ...this.#pending()];
    this.#cancelRequests.stop();
    this.#inFlight = [];
    this.#retries = [];
    this.events.closed?.(reason);
    if (current !== undefined && !isUnbegun) failWith(current, reason);
    // Writes are requeued, too, if the server has ended the connection: it has begun none.
    const mayRequeue = current?.wasTerminated ? () => true : isSafe;
    for (const execution of pending) if (!mayRequeue(execution)) failWith(execution, reason);
    this.#requeue(pending.filter(mayRequeue), reason);
  }
}

function failWith(execution: TransactionExecution, reason: string): void {
  const failure = execution.failure ?? errors.connectionLost(reason);
  if (execution.body.streaming) execution.body.fail(failure);
  if (execution.hasEnded) execution.resolve();
  else execution.reject(failure);
}

const idleStatus = 0x49;
/** Status in ReadyForQuery within a transaction: `T`. */
const openStatus = 0x54;

/** Returns whether a transaction may be sent again even if the server has executed it. */
function isSafe({ transaction, isRetry, mayRetry }: TransactionExecution): boolean {
  return isRetry || mayRetry ||
    (transaction.access === "read only" && transaction.retry === "safe");
}

/** Returns whether the server, or a pooler, closes the connection with this error. */
function endsConnection({ sqlstate }: DatabaseFailure): boolean {
  return /^(57P0[1-5]|08P01)$/.test(sqlstate);
}
