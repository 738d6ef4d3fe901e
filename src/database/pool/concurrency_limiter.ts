/**
 * Measures how long transactions take. Derives how many connections execute short transactions at a
 * time, and how many transactions share a write. A shared write saves work on both sides, and fewer
 * busy connections compete less for processors. @module
 */
import type { Transaction } from "../transaction.ts";

const minConnections = 2;
/** The limit grows by one connection for each step of service time, and of round trip time above `nearMs`. */
const stepMs = 0.2;
/** Below this service time, one connection is enough, because this process is the bottleneck. */
const singleConnectionMs = 0.05;
/** Round trip time up to which the server is considered near. */
const nearMs = 0.3;
/** Maximum number of transactions in one write. It is low for transactions that write: if one waits
 * for a lock, all after it wait as well. */
const maxTransactions = { reads: 16, writes: 4 } as const;
/** Maximum total service time of the transactions in one write, in milliseconds. */
const maxWriteMs = 1;

/** Whether a transaction is a read or a write. Only transactions of one class share a write. */
export type PipelineClass = keyof typeof maxTransactions;

export interface Load {
  readonly serviceTimeMs: number;
  readonly roundTripMs: number;
  readonly maxConnections: number;
}

/** Returns how many connections may carry transactions of one kind at a time. */
export function connectionLimit({ serviceTimeMs, roundTripMs, maxConnections }: Load): number {
  const wayMs = Math.max(0, roundTripMs - nearMs);
  if (serviceTimeMs < singleConnectionMs && wayMs === 0) return 1;
  const limit = minConnections + Math.floor(serviceTimeMs / stepMs + wayMs / stepMs);
  return Math.min(maxConnections, limit);
}

/** Returns how many of `waiting` transactions of one kind share the next write. */
export function pipelineLength(
  pipeline: PipelineClass,
  { serviceTimeMs, waiting, freeConnections }: {
    readonly serviceTimeMs: number;
    readonly waiting: number;
    readonly freeConnections: number;
  },
): number {
  const byTime = Math.ceil(maxWriteMs / Math.max(serviceTimeMs, 0.001));
  const byQueue = Math.ceil(waiting / Math.max(1, freeConnections));
  return Math.max(1, Math.min(maxTransactions[pipeline], byTime, byQueue));
}

/** Sum of shares at which the limit is reached. Below 1: sums of fractions are not exact. */
const nearlyAll = 1 - 1e-6;

/** Limits the connections in use. Each connection in use takes a share: one divided by the limit of
 * its kind. So kinds do not block each other. */
export class ConcurrencyLimiter {
  #slots = 0;
  #inUse = 0;

  get isAtLimit(): boolean {
    return this.#inUse >= nearlyAll;
  }

  /** Returns how many more connections transactions with this limit could use; at least one. */
  freeConnections(limit: number): number {
    return Math.max(1, Math.round((1 - this.#inUse) * limit));
  }

  /** Takes a connection's share of the limit; returns it for {@linkcode release}. */
  acquire(limit: number): number {
    const share = 1 / limit;
    this.#slots++;
    this.#inUse += share;
    return share;
  }

  release(share: number): void {
    this.#slots--;
    this.#inUse = this.#slots === 0 ? 0 : this.#inUse - share;
  }
}

/** Minimum size of a large body. PostgreSQL sends one of this size in about 6 ms. */
const minLargeBytes = 1024 * 1024;
/** Number of smaller bodies after which a kind with a large body is no longer considered large. */
const largeKindTransactions = 100;

/** Limits large bodies to half of the connections, so that short transactions need not wait for them. */
export class LargeBodies {
  readonly #maxConnections: number;
  #inUse = 0;
  /** For each kind, the number of small bodies after which the kind is no longer large. */
  readonly #kinds = new WeakMap<object, number>();

  constructor(poolSize: number) {
    this.#maxConnections = Math.max(1, Math.floor(poolSize / 2));
  }

  /** Whether one more connection may carry a large body. */
  get hasRoom(): boolean {
    return this.#inUse < this.#maxConnections;
  }

  /** Returns whether the kind had a large body lately. Before the first measurement, returns
   * whether the number of rows is unlimited. */
  isExpected({ kind, access, statements }: Transaction): boolean {
    if (kind === null || access !== "read only") return false;
    const left = this.#kinds.get(kind);
    return left === undefined ? statements.some(({ framing }) => framing !== undefined) : left > 0;
  }

  /** Records the length of a body that was sent completely. */
  record({ kind }: Transaction, bytes: number): void {
    if (kind === null) return;
    const left = this.#kinds.get(kind) ?? 0;
    this.#kinds.set(kind, bytes > minLargeBytes ? largeKindTransactions : Math.max(0, left - 1));
  }

  acquire(): void {
    this.#inUse++;
  }

  release(): void {
    this.#inUse--;
  }
}

/** A transaction above this time resets the estimate of its kind, which is then not short. */
const resetAboveMs = 20;
/** A kind of transactions is short if its service time is below this. */
const maxShortMs = 1;
/** Number of measurements before a kind can be short. */
const minSamples = 2;
/** Maximum factor by which the minimum grows. If it grew faster, it would follow the load, which
 * grows with the number of connections. */
const growth = 1.01;
/** Growth in milliseconds that is added, so that a minimum of 0 can grow. */
const minGrowthMs = 0.0002;
/** After a transaction that delayed other transactions, this many transactions of its kind run alone before the
 * kind is pipelined again. */
const cooldownTransactions = 1000;

/** Service time of one kind of transaction in milliseconds: a decaying minimum, without the network. */
export class ServiceTime {
  #ms = Infinity;
  #samples = 0;
  #cooldown = 0;

  /** The estimate; Infinity before the first measurement. */
  get ms(): number {
    return this.#ms;
  }

  /** Whether a transaction of this kind can be expected to end soon. */
  get isShort(): boolean {
    return this.#cooldown === 0 && this.#samples >= minSamples && this.#ms < maxShortMs;
  }

  record(ms: number): void {
    this.#samples++;
    if (this.#cooldown > 0) this.#cooldown--;
    this.#ms = ms > resetAboveMs ? ms : Math.min(this.#ms * growth + minGrowthMs, ms);
  }

  /** Records that a transaction delayed other transactions, by a lock or a large result. */
  recordDelay(): void {
    this.#cooldown = cooldownTransactions;
  }
}

/** The round trip time to the server: the recent minimum of all transactions. */
export class MinRoundTrip {
  #ms = Infinity;

  /** Milliseconds; 0 before the first measurement. */
  get ms(): number {
    return this.#ms === Infinity ? 0 : this.#ms;
  }

  /** Records the duration of one write, up to its last reply. Returns the service time of each
   * transaction in it. */
  serviceTime(ms: number, transactions: number): number {
    if (transactions === 1) {
      this.#ms = Math.min(this.#ms * 1.001, ms);
      return ms - this.#ms;
    }
    // A shorter time per transaction shows that the minimum was measured too high.
    const roundTrip = ms < this.#ms ? ms / transactions : this.#ms;
    return (ms - roundTrip) / (transactions - 1);
  }
}
