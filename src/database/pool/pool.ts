/**
 * A pool of connections with a fair queue: the transaction that has waited longest is executed
 * first. Short waiting transactions are pipelined: several share one write, each followed by a
 * Sync. @module
 */
import { readVersion } from "../server_version.ts";
import { errors } from "../../base/errors/catalogue.ts";
import { ServiceError } from "../../base/errors/service_error.ts";
import { type Deferred, deferred } from "../../base/lib/deferred.ts";
import type { Histogram } from "../../base/observe/metric_registry.ts";
import { OneShotTimer } from "../../base/lib/one_shot_timer.ts";
import { Connection, type ConnectionOptions } from "../connection/connection.ts";
import type { ResultSettler } from "../connection/execution.ts";
import { answerInTime, singleStatement } from "../connection/single_statement.ts";
import type { Transaction, TransactionResult } from "../transaction.ts";
import type { Caller, Database, PoolCounts } from "../database.ts";
import { IdleConnections } from "./idle_connections.ts";
import { PoolLimits } from "./pool_limits.ts";
import type { Transport } from "../transport.ts";
import {
  cancelOverdue,
  close,
  destroySlowestReader,
  destroyUnread,
  handleSlowWork,
  type PooledConnection,
  type PoolTrace,
  slowTransactionMs,
  spoolSlowReaders,
  traceStep,
  workSince,
} from "./pooled_connection.ts";
import type { PoolConfiguration, PoolOptions } from "./pool_options.ts";
import { TimedQueue } from "./timed_queue.ts";
import type { QueuedTransaction } from "./wait_queue.ts";

/** How long the pool, when it closes, waits for connections that are being opened. */
const closeTimeoutMs = 500;
/** Period of the check for bodies that are not read, and of attempts to open connections. */
const stallCheckMs = 1000;

/** After a refusal, a pool that has connections opens no further ones for this time. */
const refusalPauseMs = 1000;
const slowCheckMs = 10;
/** A short transaction that runs longer than this is no longer counted by the concurrency limit. */
const maxCountedMs = 10;

/** Maximum wait for an answer on a connection: normally, and when the server is suspected to be silent. */
const [maxQuestionMs, maxSuspicionMs] = [5000, 1000];

const question = singleStatement("select 1");

/** Options of connections that can change while the pool is open. */
type SessionOptions = Required<Pick<ConnectionOptions, "prepare" | "sharesSession">>;

/** A pool. It opens connections on demand, at most `max`. */
export class Pool implements Database {
  readonly #connections = new Set<PooledConnection>();
  readonly #idle: IdleConnections;
  readonly #queue: TimedQueue;
  readonly #limits: PoolLimits;
  readonly #timers: Readonly<Record<"stalls" | "slow" | "closing", OneShotTimer>>;
  #session: SessionOptions;
  #opening = 0;
  #refusedAt = -Infinity;
  #generation = 0;
  /** Settles when the last connection is closed; null while the pool is open. */
  #closed: Deferred<void> | null = null;
  /** Receives the events of the pool; null in all but the most detailed log. */
  #trace: PoolTrace | null = null;

  constructor(private readonly options: PoolOptions) {
    const { prepare, sharesSession = !prepare } = options;
    this.#session = { prepare, sharesSession };
    this.#queue = new TimedQueue(options.clock, options.acquisitionTimeoutMs);
    this.#idle = new IdleConnections(options);
    this.#limits = new PoolLimits(options.max);
    const { schedule, scheduleAwaited } = options.clock;
    this.#timers = {
      stalls: new OneShotTimer(schedule, () => this.#checkStalls()),
      slow: new OneShotTimer(schedule, () => this.#checkSlow()),
      // This timer keeps the process alive while the pool closes.
      closing: new OneShotTimer(scheduleAwaited, () => this.#closed?.resolve()),
    };
  }

  transaction(transaction: Transaction, caller: Caller | null = null): Promise<TransactionResult> {
    return new Promise((resolve, reject) => {
      this.#traceOf([{ transaction }])?.({ kind: "pool-acquiring" });
      if (this.#closed !== null) throw errors.cannotConnect("the database was closed");
      const deadline = caller?.deadline ?? null;
      if (deadline?.isOver) throw errors.requestTimeout();
      const queued = this.#queuedOf(transaction, caller, { resolve, reject });
      this.#enqueue(queued);
      deadline?.onOver(() => this.#overdue(queued));
    });
  }

  #queuedOf(
    transaction: Transaction,
    caller: Caller | null,
    { resolve, reject }: ResultSettler,
  ): QueuedTransaction {
    const { kind } = transaction;
    // In a shared session, all transactions are blocks, which are never pipelined.
    const isMeasured = kind !== null && !this.#session.sharesSession;
    return {
      transaction,
      resolve,
      reject,
      deadline: caller?.deadline ?? null,
      // A write has no caller here, because it runs to its end although its client has left.
      caller: transaction.access === "read only" ? caller : null,
      timing: caller?.timing ?? null,
      events: caller?.events ?? null,
      serviceTime: isMeasured ? this.#limits.serviceTimeOf(kind) : null,
      expectsLargeBody: this.#limits.expectsLargeBody(transaction),
      since: 0,
      isRequeued: false,
      stopListening: null,
      list: null,
      previous: null,
      next: null,
    };
  }

  version(): Promise<string> {
    return readVersion(this);
  }

  flush(): void {
    this.#trace?.({ kind: "pool-flushed" });
    this.#generation++;
    this.#idle.closeAll();
  }

  configure(changed: PoolConfiguration): void {
    const { prepare, usesBlocks = false, sharesSession = !prepare, trace = null } = changed;
    const session = { prepare, sharesSession: usesBlocks || sharesSession };
    const { prepare: prepared, sharesSession: shared } = this.#session;
    this.#session = session;
    if (session.prepare !== prepared || session.sharesSession !== shared) this.flush();
    this.#trace = trace;
  }

  ask(): Promise<void> | null {
    const pooled = this.#idle.last;
    return pooled === undefined ? null : this.#ask(pooled, maxQuestionMs);
  }

  suspect(): void {
    for (const pooled of this.#idle.list()) this.#ask(pooled, maxSuspicionMs).catch(() => {});
  }

  async #ask(pooled: PooledConnection, maxMs: number): Promise<void> {
    const { connection, idleSince } = pooled;
    this.#idle.remove(pooled);
    await answerInTime(
      { connection, maxMs, clock: this.options.clock },
      (settler) => this.#execute(pooled, [this.#queuedOf(question, null, settler)]),
    );
    // The idle time is restored, because the query must not restart it.
    pooled.idleSince = idleSince;
  }

  get queueSeconds(): Histogram {
    return this.#queue.seconds;
  }

  counts(): PoolCounts {
    const open = this.#connections.size;
    return {
      max: this.options.max,
      open,
      inUse: open - this.#idle.count,
      waiting: this.#queue.size,
      timeouts: this.#queue.timeouts,
    };
  }

  async close(): Promise<void> {
    const closed = this.#closed ??= deferred<void>();
    this.#idle.stopAging();
    this.#queue.rejectAll(errors.cannotConnect("the database was closed"));
    this.flush();
    this.#closeWhenEmpty();
    await closed.promise;
    this.#stopTimers();
  }

  #enqueue(queued: QueuedTransaction): void {
    // Transactions may wait although a connection is idle, because a limit holds them. If it does
    // not apply to the new transaction, this one starts first.
    if (this.#idle.count > 0 && this.#limits.mayStart(queued)) {
      return this.#execute(this.#idle.take()!, [queued]);
    }
    this.#queue.add(queued);
    this.#timers.slow.start(slowCheckMs);
    if (this.#idle.count === 0) this.#openMore();
  }

  /** Handles a transaction whose time limit is exceeded. Rejects it if it is queued, and cancels it
   * if it runs. */
  #overdue(queued: QueuedTransaction): void {
    if (queued.list !== null) return this.#queue.reject(queued, errors.requestTimeout());
    for (const pooled of [...this.#connections]) {
      if (pooled.work?.transactions.includes(queued)) cancelOverdue(pooled);
    }
  }

  #execute(pooled: PooledConnection, transactions: readonly QueuedTransaction[]): void {
    const now = this.options.clock.now();
    for (const queued of transactions) this.#queue.recordWait(queued, now);
    pooled.work = {
      transactions,
      startedAt: now,
      share: this.#limits.acquire(transactions[0]!),
      failures: 0,
      stopListening: null,
      isCancelled: false,
    };
    this.#timers.slow.start(slowCheckMs);
    this.#timers.stalls.start(stallCheckMs);
    traceStep(this.#traceOf(transactions), pooled, "used");
    pooled.connection.execute(transactions);
  }

  /** Starts waiting transactions on idle connections, or opens more connections. */
  #serve(): void {
    while (this.#idle.count > 0) {
      const pooled = this.#idle.take()!;
      if (this.#executeNext(pooled)) continue;
      this.#idle.add(pooled);
      break;
    }
    if (this.#idle.count === 0) this.#openMore();
  }

  /**
   * Starts the next waiting transactions on an idle connection. Returns false if none may start.
   */
  #executeNext(pooled: PooledConnection): boolean {
    const transactions = this.#queue.take(
      (queued) => this.#limits.mayStart(queued),
      (first, pipeline) => this.#limits.pipelineLength(first, pipeline, this.#queue.size),
    );
    if (transactions.length === 0) return false;
    this.#execute(pooled, transactions);
    return true;
  }

  /** Opens connections while there are more waiting transactions than connections being opened. */
  #openMore(): void {
    const { max } = this.options;
    // The loop checks all conditions each time, because an attempt may fail at once.
    while (
      this.#opening < this.#queue.size && this.#connections.size + this.#opening < max &&
      !this.#isPausing
    ) {
      this.#opening++;
      void this.#open(this.#traceOf(this.#queue));
    }
  }

  /** Whether the pool opens no connection now. After a refusal, an attempt could take a connection
   * from other clients. */
  get #isPausing(): boolean {
    if (this.#closed !== null) return true;
    return this.#connections.size > 0 &&
      this.options.clock.now() - this.#refusedAt < refusalPauseMs;
  }

  async #open(trace: PoolTrace | null): Promise<void> {
    const opened = { id: null, generation: this.#generation };
    traceStep(trace, opened, "being established");
    let transport: Transport | null = null;
    let pooled: PooledConnection | null = null;
    let refusal: unknown = null;
    try {
      transport = await this.options.connect();
      pooled = this.#pooledOf(transport, opened);
    } catch (error) {
      transport?.destroy();
      refusal = error;
    }
    this.#opening--;
    if (pooled !== null) {
      this.#connections.add(pooled);
      traceStep(trace, pooled, "available: connection establishment");
      this.#offer(pooled);
    } else {
      this.#refusedAt = this.options.clock.now();
      traceStep(trace, opened, "terminated: init failure");
      this.#refused(refusal instanceof Error ? refusal : new Error("connecting failed"));
    }
    this.#closeWhenEmpty();
  }

  #pooledOf(
    transport: Transport,
    opened: Pick<PooledConnection, "id" | "generation">,
  ): PooledConnection {
    const now = this.options.clock.now();
    const connection = new Connection(
      transport,
      { ...this.options, ...this.#session, clock: this.options.clock },
      {
        idle: () => this.#idleAgain(pooled),
        closed: () => this.#gone(pooled),
        requeued: (transactions) => this.#requeued(transactions as readonly QueuedTransaction[]),
        statementForgotten: (sqlstate) => this.options.onStatementForgotten?.(sqlstate),
        finished: (pending, result, bodyLength) => {
          const isWhole = result === "success";
          if (!isWhole) pooled.work!.failures++;
          this.#limits.recordBody(pending as QueuedTransaction, bodyLength ?? 0, { isWhole });
        },
      },
    );
    const pooled: PooledConnection = {
      ...opened,
      connection,
      openedAt: now,
      idleSince: now,
      work: null,
      closeReason: null,
    };
    return pooled;
  }

  /** Rejects all waiting transactions if no connection is left to execute them. */
  #refused(error: Error): void {
    if (this.#connections.size + this.#opening > 0) return;
    const isWorded = error instanceof ServiceError;
    this.#queue.rejectAll(isWorded ? error : errors.cannotConnect(error.message));
  }

  #idleAgain(pooled: PooledConnection): void {
    const work = pooled.work!;
    const now = this.options.clock.now();
    if (work.failures === 0) this.#limits.recordWork(work, now);
    this.#endWork(pooled);
    pooled.idleSince = now;
    const isFlushed = pooled.generation !== this.#generation || this.#closed !== null;
    if (isFlushed || work.isCancelled) return close(pooled, "release");
    if (this.#idle.isTooOld(pooled, now)) return close(pooled, "max lifetime");
    this.#offer(pooled);
  }

  #endWork(pooled: PooledConnection): void {
    const { work } = pooled;
    if (work === null) return;
    pooled.work = null;
    this.#limits.release(work);
    work.stopListening?.();
    const trace = this.#traceOf(work.transactions);
    if (trace === null) return;
    const step = work.failures === 0 ? "available: session success" : "available: session failure";
    traceStep(trace, pooled, step);
    for (const _ of work.transactions) trace({ kind: "pool-acquired" });
  }

  /** Returns the receiver of transaction events, or null. */
  #traceOf(transactions: Iterable<Pick<QueuedTransaction, "transaction">>): PoolTrace | null {
    if (this.#trace === null) return null;
    for (const { transaction } of transactions) {
      if (transaction.isTraced !== false) return this.#trace;
    }
    return null;
  }

  /** Requeues transactions that were sent after a slow transaction, or on a lost connection. Each is
   * then executed alone. */
  #requeued(transactions: readonly QueuedTransaction[]): void {
    if (this.#closed !== null) {
      for (const { reject } of transactions) reject(errors.connectionLost(null));
      return;
    }
    this.#queue.putBack(transactions);
    this.#serve();
    this.#queue.rejectOverdue();
  }

  /** Adds an idle connection. Starts work on all idle connections, because a share of the limit was released. */
  #offer(pooled: PooledConnection): void {
    if (this.#closed !== null) return close(pooled, "release");
    this.#idle.add(pooled);
    this.#serve();
    this.#idle.startAging();
  }

  /** Handles the end of a connection, closed by either side. */
  #gone(pooled: PooledConnection): void {
    this.#connections.delete(pooled);
    traceStep(this.#trace, pooled, `terminated: ${pooled.closeReason ?? "network error"}`);
    // After a cancel request, the server may be silent, so the other connections are tested.
    if (pooled.work?.isCancelled) this.suspect();
    this.#endWork(pooled);
    this.#idle.remove(pooled);
    this.#closeWhenEmpty();
    this.#serve();
  }

  #closeWhenEmpty(): void {
    if (this.#connections.size > 0) return;
    if (this.#opening > 0) {
      // The wait is limited: a server that does not answer must not keep the process alive.
      if (this.#closed !== null) this.#timers.closing.start(closeTimeoutMs);
      return;
    }
    this.#stopTimers();
    this.#closed?.resolve();
  }

  #stopTimers(): void {
    const { stalls, slow, closing } = this.#timers;
    stalls.clear();
    closing.clear();
    if (this.#queue.size > 0) return;
    slow.clear();
    this.#queue.clearTimer();
  }

  /** Closes connections whose body is never read. If transactions have waited long, closes the
   * connection with the slowest reader. Retries connections that were refused. */
  #checkStalls(): void {
    if (this.#connections.size > this.#idle.count) this.#timers.stalls.start(stallCheckMs);
    const isContended = this.#queue.size > 0 || this.#closed !== null;
    destroyUnread(this.#connections, { isContended });
    if (this.#idle.count === 0) this.#openMore();
    if (this.#queue.isLate) destroySlowestReader(this.#connections);
  }

  #checkSlow(): void {
    const now = this.options.clock.now();
    for (const pooled of [...this.#connections]) {
      cancelOverdue(pooled);
      const slow = workSince(pooled, now, slowTransactionMs);
      if (slow !== null) handleSlowWork(pooled, slow, now);
      const counted = workSince(pooled, now, maxCountedMs);
      if (counted !== null) this.#limits.releaseShare(counted);
    }
    spoolSlowReaders(this.#connections, { isContended: this.#queue.size > 0 });
    if (this.#idle.count > 0 && this.#queue.size > 0) this.#serve();
    this.#queue.listenToCallers(now);
    if (this.#queue.size > 0 || this.#connections.size > this.#idle.count) {
      this.#timers.slow.start(slowCheckMs);
    }
  }
}
