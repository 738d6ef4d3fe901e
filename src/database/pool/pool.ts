/** A pool of connections with a fair queue: the transaction that has waited longest is executed first.
 * Short transactions that wait are pipelined: several share a write, each with a Sync of its own.
 * @module */
import { readVersion } from "../server_version.ts";
import type { Clock } from "../../base/lib/clock.ts";
import { errors } from "../../base/errors/catalogue.ts";
import { ServiceError } from "../../base/errors/service_error.ts";
import { type Deferred, deferred } from "../../base/lib/deferred.ts";
import { Histogram } from "../../base/observe/metric_registry.ts";
import { OneShotTimer } from "../../base/lib/one_shot_timer.ts";
import { Connection, type ConnectionOptions } from "../connection/connection.ts";
import type { ResultSettler } from "../connection/execution.ts";
import type { StaleStatement } from "../protocol/server_error.ts";
import { maxHeldBytes } from "../connection/body_receiver.ts";
import { metadataTransaction, type Transaction, type TransactionResult } from "../transaction.ts";
import type {
  Caller,
  Database,
  DatabaseOptions,
  DatabaseWatcher,
  PoolCounts,
} from "../database.ts";
import {
  ConcurrencyLimiter,
  connectionLimit,
  LargeBodies,
  type Load,
  MinRoundTrip,
  pipelineLength,
  ServiceTime,
} from "./concurrency_limiter.ts";
import type { Transport } from "../transport.ts";
import {
  cancelOverdue,
  close,
  destroySlowestReader,
  destroyUnread,
  handleSlowWork,
  maxContendedStallMs,
  onLeave,
  type PooledConnection,
  type PoolTrace,
  spoolSlowReaders,
  traceStep,
  workSince,
} from "./pooled_connection.ts";
import { pipelineOf, type QueuedTransaction, WaitQueue } from "./wait_queue.ts";

/** How a pool behaves. Times in milliseconds; `Infinity` is never. */
export interface PoolOptions extends Omit<ConnectionOptions, "clock"> {
  readonly max: number;
  readonly acquisitionTimeoutMs: number;
  readonly maxIdleTimeMs: number;
  readonly maxLifetimeMs: number;
  readonly clock: Clock;
  /** Opens and authenticates a connection. The message of its error is shown to operators. */
  readonly connect: () => Promise<Transport>;
  /** See `ConnectionEvents.statementForgotten`. */
  readonly onStatementForgotten?: (sqlstate: StaleStatement) => void;
}

/** Options of a pool that can change while it is open. */
export interface PoolConfiguration extends DatabaseOptions {
  readonly prepare: boolean;
  /** See `ConnectionOptions.sharesSession`. Default: not `prepare`. */
  readonly sharesSession?: boolean;
}

/** The pool waits this long for connections that are being opened when it closes. */
const closeTimeoutMs = 500;
/** Period of the check for bodies that are not read, and of attempts to open connections. */
const stallCheckMs = 1000;

/** After a refusal a pool with open connections makes do with these for this time. */
const refusalPauseMs = 1000;
const slowCheckMs = 10;
/** A short transaction that takes this long no longer counts for the concurrency limit. */
const maxCountedMs = 10;
/** After this time the pool listens for callers that leave, and moves the transactions behind a slow one. */
const slowTransactionMs = 50;

/** Bounds in seconds. Most transactions do not wait at all. */
const queueHistogram = {
  help: "Time that transactions waited for a connection of the pool",
  bounds: [0, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
};

/** Longest wait for the answer on a connection: while nothing is known, and while others do not answer. */
const [maxQuestionMs, maxSuspicionMs] = [5000, 1000];
const questionTransaction: Transaction = {
  ...metadataTransaction([{ text: "select 1", params: [], use: "none" }]),
  isTraced: false,
};

/** Options of connections that can change while the pool is open. */
type SessionOptions = Required<Pick<ConnectionOptions, "prepare" | "sharesSession">>;

/** A pool. It opens connections on demand, at most `max`. */
export class Pool implements Database {
  readonly #clock: Clock;
  readonly #connections = new Set<PooledConnection>();
  /** The connection used last is taken first, so that the others can age. */
  readonly #idle: PooledConnection[] = [];
  readonly #queue = new WaitQueue();
  readonly #limiter = new ConcurrencyLimiter();
  readonly #largeBodies: LargeBodies;
  readonly #serviceTimes = new WeakMap<object, ServiceTime>();
  readonly #roundTrip = new MinRoundTrip();
  readonly #timers: ReturnType<typeof poolTimers>;
  #session: SessionOptions;
  #opening = 0;
  #refusedAt = -Infinity;
  #timeouts = 0;
  #generation = 0;
  /** Settles when the last connection is closed; null while the pool is open. */
  #closed: Deferred<void> | null = null;
  /** Receives the events of the pool; null in all but the most detailed log. */
  #trace: PoolTrace | null = null;
  readonly queueSeconds = new Histogram(queueHistogram);
  /** Adapters add subscriptions: the pool's connections do not listen. */
  readonly subscribe = null;

  constructor(private readonly options: PoolOptions) {
    this.#clock = options.clock;
    const { prepare, sharesSession = !prepare } = options;
    this.#session = { prepare, sharesSession };
    this.#largeBodies = new LargeBodies(options.max);
    this.#timers = poolTimers(options.clock, {
      aging: () => this.#closeAged(),
      stalls: () => this.#checkStalls(),
      slow: () => this.#checkSlow(),
      deadline: () => this.#rejectOverdue(),
      closing: () => this.#closed?.resolve(),
    });
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
    return {
      transaction,
      resolve,
      reject,
      deadline: caller?.deadline ?? null,
      // A write runs to its end although its client has left.
      caller: transaction.access === "read only" ? caller : null,
      timing: caller?.timing ?? null,
      events: caller?.events ?? null,
      serviceTime: this.#serviceTimeOf(transaction.kind),
      expectsLargeBody: this.#largeBodies.isExpected(transaction),
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
    for (const pooled of this.#idle.splice(0)) close(pooled, "release");
  }

  configure({ prepare, usesBlocks = false, sharesSession = !prepare }: PoolConfiguration): void {
    const session = { prepare, sharesSession: usesBlocks || sharesSession };
    const { prepare: prepared, sharesSession: shared } = this.#session;
    if (session.prepare === prepared && session.sharesSession === shared) return;
    this.#session = session;
    this.flush();
  }

  watch({ trace }: DatabaseWatcher): void {
    this.#trace = trace;
  }

  ask(): Promise<void> | null {
    const pooled = this.#idle.at(-1);
    return pooled === undefined ? null : this.#try(pooled, maxQuestionMs);
  }

  suspect(): void {
    for (const pooled of [...this.#idle]) this.#try(pooled, maxSuspicionMs).catch(() => {});
  }

  /** Takes a connection out of use until it answers. Closes it, and rejects, without an answer in time. */
  async #try(pooled: PooledConnection, maxMs: number): Promise<void> {
    const { idleSince } = pooled;
    this.#idle.splice(this.#idle.indexOf(pooled), 1);
    const cancelTimer = this.#clock.schedule(
      () => pooled.connection.destroy("the server did not answer a question in time"),
      maxMs,
    );
    try {
      await new Promise<TransactionResult>((resolve, reject) =>
        this.#execute(pooled, [this.#queuedOf(questionTransaction, null, { resolve, reject })])
      );
      pooled.idleSince = idleSince;
    } finally {
      cancelTimer();
    }
  }

  counts(): PoolCounts {
    const open = this.#connections.size;
    return {
      max: this.options.max,
      open,
      inUse: open - this.#idle.length,
      waiting: this.#queue.size,
      timeouts: this.#timeouts,
    };
  }

  async close(): Promise<void> {
    const closed = this.#closed ??= deferred<void>();
    this.#timers.aging.clear();
    this.#rejectAll(errors.cannotConnect("the database was closed"));
    this.flush();
    this.#closeWhenEmpty();
    await closed.promise;
    this.#stopTimers();
  }

  /** Returns null for transactions that are never pipelined: in a session that is shared all are blocks. */
  #serviceTimeOf(kind: object | null): ServiceTime | null {
    if (kind === null || this.#session.sharesSession) return null;
    let serviceTime = this.#serviceTimes.get(kind);
    if (serviceTime === undefined) this.#serviceTimes.set(kind, serviceTime = new ServiceTime());
    return serviceTime;
  }

  #enqueue(queued: QueuedTransaction): void {
    // An idle connection beside a queue is left for transactions that the concurrency limit does not hold.
    if (this.#idle.length > 0 && this.#mayStart(queued)) {
      return this.#execute(this.#idle.pop()!, [queued]);
    }
    queued.since = this.#clock.now();
    this.#queue.add(queued);
    this.#timers.deadline.start(this.options.acquisitionTimeoutMs);
    this.#timers.slow.start(slowCheckMs);
    if (this.#idle.length === 0) this.#openMore();
  }

  /** The time of a transaction is over: it fails if it waits, and is canceled if it runs. */
  #overdue(queued: QueuedTransaction): void {
    if (queued.list !== null) return this.#reject(queued, errors.requestTimeout());
    for (const pooled of [...this.#connections]) {
      if (pooled.work?.transactions.includes(queued)) cancelOverdue(pooled);
    }
  }

  #mayStart(queued: QueuedTransaction): boolean {
    if (queued.expectsLargeBody && !this.#largeBodies.hasRoom) return false;
    return !this.#limiter.isAtLimit || pipelineOf(queued) === null;
  }

  #execute(pooled: PooledConnection, transactions: readonly QueuedTransaction[]): void {
    const [first] = transactions;
    const isLimited = pipelineOf(first!) !== null;
    if (first!.expectsLargeBody) this.#largeBodies.acquire();
    const now = this.#clock.now();
    for (const queued of transactions) this.#recordWait(queued, now);
    pooled.work = {
      transactions,
      startedAt: now,
      share: isLimited ? this.#limiter.acquire(this.#limitOf(first!)) : null,
      failures: 0,
      stopListening: null,
      isCancelled: false,
    };
    this.#timers.slow.start(slowCheckMs);
    this.#timers.stalls.start(stallCheckMs);
    traceStep(this.#traceOf(transactions), pooled, "used");
    pooled.connection.execute(transactions);
  }

  /** Records how long a transaction was in the queue; a requeued one from the beginning. */
  #recordWait({ since, timing, isRequeued }: QueuedTransaction, now: number): void {
    const waitMs = since === 0 ? 0 : now - since;
    if (!isRequeued) this.queueSeconds.record(waitMs / 1000);
    if (timing !== null) timing.queueMs = waitMs;
  }

  /** Starts waiting transactions on idle connections, or opens more connections. */
  #serve(): void {
    while (this.#idle.length > 0) {
      const pooled = this.#idle.pop()!;
      if (this.#executeNext(pooled)) continue;
      this.#idle.push(pooled);
      break;
    }
    if (this.#idle.length === 0) this.#openMore();
  }

  /** Starts the next waiting transactions on an idle connection; false if none may start. */
  #executeNext(pooled: PooledConnection): boolean {
    const transactions = this.#queue.take(
      (queued) => this.#mayStart(queued),
      (first, pipeline) =>
        pipelineLength(pipeline, {
          serviceTimeMs: first.serviceTime!.ms,
          waiting: this.#queue.size,
          freeConnections: this.#limiter.freeConnections(this.#limitOf(first)),
        }),
    );
    if (transactions.length === 0) return false;
    this.#execute(pooled, transactions);
    return true;
  }

  #limitOf({ serviceTime }: QueuedTransaction): number {
    const load: Load = {
      serviceTimeMs: serviceTime!.ms,
      roundTripMs: this.#roundTrip.ms,
      maxConnections: this.options.max,
    };
    return connectionLimit(load);
  }

  /** Opens connections while more transactions wait than connections are being opened. */
  #openMore(): void {
    const { max } = this.options;
    // An attempt may fail at once.
    while (
      this.#opening < this.#queue.size && this.#connections.size + this.#opening < max &&
      !this.#isPausing
    ) {
      this.#opening++;
      void this.#open(this.#traceOf(this.#queue));
    }
  }

  /** Whether no connection is opened: an attempt after a refusal may take one from other clients. */
  get #isPausing(): boolean {
    if (this.#closed !== null) return true;
    return this.#connections.size > 0 && this.#clock.now() - this.#refusedAt < refusalPauseMs;
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
      this.#refusedAt = this.#clock.now();
      traceStep(trace, opened, "terminated: init failure");
      this.#refused(refusal instanceof Error ? refusal : new Error("connecting failed"));
    }
    this.#closeWhenEmpty();
  }

  #pooledOf(
    transport: Transport,
    opened: Pick<PooledConnection, "id" | "generation">,
  ): PooledConnection {
    const now = this.#clock.now();
    const connection = new Connection(
      transport,
      { ...this.options, ...this.#session, clock: this.#clock },
      {
        idle: () => this.#idleAgain(pooled),
        closed: () => this.#gone(pooled),
        requeued: (transactions) => this.#requeued(transactions as readonly QueuedTransaction[]),
        statementForgotten: (sqlstate) => this.options.onStatementForgotten?.(sqlstate),
        finished: (pending, result, bodyLength) => {
          if (result === "failure") pooled.work!.failures++;
          else this.#largeBodies.record(pending.transaction, bodyLength ?? 0);
          const isLarge = (bodyLength ?? 0) > maxHeldBytes;
          if (isLarge) (pending as QueuedTransaction).serviceTime?.recordDelay();
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

  /** Rejects all waiting transactions when no connection is left that could execute them. */
  #refused(error: Error): void {
    if (this.#connections.size + this.#opening > 0) return;
    this.#rejectAll(error instanceof ServiceError ? error : errors.cannotConnect(error.message));
  }

  #rejectAll(error: Error): void {
    for (const queued of this.#queue) this.#reject(queued, error);
  }

  #reject(queued: QueuedTransaction, error: unknown): void {
    this.#queue.remove(queued);
    queued.reject(error);
  }

  #idleAgain(pooled: PooledConnection): void {
    const isCancelled = pooled.work!.isCancelled;
    this.#recordServiceTime(pooled);
    this.#endWork(pooled);
    const now = this.#clock.now();
    pooled.idleSince = now;
    const isFlushed = pooled.generation !== this.#generation || this.#closed !== null;
    if (isFlushed || isCancelled) return close(pooled, "release");
    if (now - pooled.openedAt > this.options.maxLifetimeMs) return close(pooled, "max lifetime");
    this.#offer(pooled);
  }

  #recordServiceTime({ work }: PooledConnection): void {
    const { transactions, startedAt, failures } = work!;
    if (failures > 0) return;
    const ms = this.#roundTrip.serviceTime(this.#clock.now() - startedAt, transactions.length);
    for (const { serviceTime } of transactions) serviceTime?.record(ms);
  }

  #endWork(pooled: PooledConnection): void {
    const { work } = pooled;
    if (work === null) return;
    pooled.work = null;
    this.#releaseShare(work);
    if (work.transactions[0]!.expectsLargeBody) this.#largeBodies.release();
    work.stopListening?.();
    const trace = this.#traceOf(work.transactions);
    if (trace === null) return;
    const step = work.failures === 0 ? "available: session success" : "available: session failure";
    traceStep(trace, pooled, step);
    for (const _ of work.transactions) trace({ kind: "pool-acquired" });
  }

  /** Returns the receiver of events of transactions; null if nothing receives them. */
  #traceOf(transactions: Iterable<Pick<QueuedTransaction, "transaction">>): PoolTrace | null {
    if (this.#trace === null) return null;
    for (const { transaction } of transactions) {
      if (transaction.isTraced !== false) return this.#trace;
    }
    return null;
  }

  #releaseShare(work: NonNullable<PooledConnection["work"]>): void {
    if (work.share !== null) this.#limiter.release(work.share);
    work.share = null;
  }

  /** Transactions that were behind a slow one, or on a lost connection: each is executed alone. */
  #requeued(transactions: readonly QueuedTransaction[]): void {
    if (this.#closed !== null) {
      for (const { reject } of transactions) reject(errors.connectionLost(null));
      return;
    }
    const now = this.#clock.now();
    for (const queued of transactions) {
      queued.isRequeued = true;
      if (queued.since === 0) queued.since = now;
    }
    this.#queue.putBack(transactions);
    for (const queued of transactions) {
      if (queued.deadline?.isOver) this.#reject(queued, errors.requestTimeout());
    }
    this.#serve();
    this.#rejectOverdue();
  }

  /** Adds an idle connection. More than one may have work now: a share of the limit was released. */
  #offer(pooled: PooledConnection): void {
    if (this.#closed !== null) return close(pooled, "release");
    this.#idle.push(pooled);
    this.#serve();
    if (this.#idle.length > 0) this.#startAging();
  }

  /** A connection was closed, by either side. */
  #gone(pooled: PooledConnection): void {
    this.#connections.delete(pooled);
    traceStep(this.#trace, pooled, `terminated: ${pooled.closeReason ?? "network error"}`);
    // The server may have fallen silent.
    if (pooled.work?.isCancelled) this.suspect();
    this.#endWork(pooled);
    const position = this.#idle.indexOf(pooled);
    if (position >= 0) this.#idle.splice(position, 1);
    this.#closeWhenEmpty();
    this.#serve();
  }

  #closeWhenEmpty(): void {
    if (this.#connections.size > 0) return;
    if (this.#opening > 0) {
      // A server that does not answer must not keep the process alive.
      if (this.#closed !== null) this.#timers.closing.start(closeTimeoutMs);
      return;
    }
    this.#stopTimers();
    this.#closed?.resolve();
  }

  #stopTimers(): void {
    const { stalls, slow, deadline, closing } = this.#timers;
    stalls.clear();
    closing.clear();
    if (this.#queue.size > 0) return;
    slow.clear();
    deadline.clear();
  }

  /**
   * Closes connections whose body is not read, which would keep them for ever; and, while transactions wait
   * for long, the one whose body is read most slowly. Tries again to open connections that were refused.
   */
  #checkStalls(): void {
    if (this.#connections.size > this.#idle.length) this.#timers.stalls.start(stallCheckMs);
    const isContended = this.#queue.size > 0 || this.#closed !== null;
    destroyUnread(this.#connections, { isContended });
    if (this.#idle.length === 0) this.#openMore();
    if (this.#isQueueLate()) destroySlowestReader(this.#connections);
  }

  /** Whether the first waiting transaction has waited for half of its timeout, or as long as a stall may take. */
  #isQueueLate(): boolean {
    const maxMs = Math.min(maxContendedStallMs, this.options.acquisitionTimeoutMs / 2);
    for (const { since } of this.#queue) if (this.#clock.now() - since > maxMs) return true;
    return false;
  }

  #checkSlow(): void {
    const now = this.#clock.now();
    for (const pooled of [...this.#connections]) {
      cancelOverdue(pooled);
      const slow = workSince(pooled, now, slowTransactionMs);
      if (slow !== null) handleSlowWork(pooled, slow, now);
      const counted = workSince(pooled, now, maxCountedMs);
      if (counted !== null) this.#releaseShare(counted);
    }
    spoolSlowReaders(this.#connections, { isContended: this.#queue.size > 0 });
    if (this.#idle.length > 0 && this.#queue.size > 0) this.#serve();
    this.#listenToWaiting(now);
    if (this.#queue.size > 0 || this.#connections.size > this.#idle.length) {
      this.#timers.slow.start(slowCheckMs);
    }
  }

  /** Removes from the queue the reads whose callers leave. */
  #listenToWaiting(now: number): void {
    for (const queued of this.#queue) {
      if (now - queued.since < slowTransactionMs) continue;
      if (queued.caller === null || queued.stopListening !== null) continue;
      queued.stopListening = onLeave(queued.caller, (reason) => this.#reject(queued, reason));
    }
  }

  /** Rejects the transactions that have waited too long. Requeued ones come before some that wait for longer. */
  #rejectOverdue(): void {
    const overdue = this.#clock.now() - this.options.acquisitionTimeoutMs;
    let oldest = Infinity;
    for (const queued of this.#queue) {
      if (queued.since > overdue) {
        oldest = Math.min(oldest, queued.since);
        continue;
      }
      this.#timeouts++;
      this.#recordWait(queued, this.#clock.now());
      this.#reject(queued, errors.acquisitionTimeout());
    }
    this.#timers.deadline.clear();
    if (oldest !== Infinity) this.#timers.deadline.start(Math.ceil(oldest - overdue));
  }

  #startAging(): void {
    const { maxIdleTimeMs, maxLifetimeMs } = this.options;
    const period = Math.min(maxIdleTimeMs, maxLifetimeMs) / 2;
    if (period !== Infinity) this.#timers.aging.start(Math.max(period, 100));
  }

  /** Closes the idle connections that have reached their maximum age or idle time. */
  #closeAged(): void {
    const now = this.#clock.now();
    const { maxIdleTimeMs, maxLifetimeMs } = this.options;
    for (const pooled of [...this.#idle]) {
      // Closing one may start a transaction on another.
      if (pooled.work !== null) continue;
      if (now - pooled.openedAt > maxLifetimeMs) close(pooled, "max lifetime");
      else if (now - pooled.idleSince > maxIdleTimeMs) close(pooled, "max idletime");
    }
    if (this.#idle.length > 0) this.#startAging();
  }
}

/** Timers of a pool, by what they do; those of the last two keep the process alive. */
function poolTimers(
  { schedule, scheduleAwaited }: Clock,
  run: Readonly<Record<"aging" | "stalls" | "slow" | "deadline" | "closing", () => void>>,
) {
  return {
    aging: new OneShotTimer(schedule, run.aging),
    stalls: new OneShotTimer(schedule, run.stalls),
    slow: new OneShotTimer(schedule, run.slow),
    deadline: new OneShotTimer(scheduleAwaited, run.deadline),
    closing: new OneShotTimer(scheduleAwaited, run.closing),
  };
}
