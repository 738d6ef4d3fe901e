/** How long transactions take, how many connections carry short ones at a time, and how many of these share a
 * write: one for several saves work on both sides, and processes compete less for processors. @module */
import type { Transaction } from "../transaction.ts";

const minConnections = 2;
/** Each of these of service time, or of round trip above `nearMs`, adds a connection. */
const stepMs = 0.2;
/** Below this service time one connection is enough: this process is then the bottleneck. */
const singleConnectionMs = 0.05;
/** Up to this round trip the server is near. */
const nearMs = 0.3;
/** Most transactions of a write. Writes wait for locks, and a transaction that follows a waiting
 * one cannot be moved. */
const maxTransactions = { reads: 16, writes: 4 } as const;
/** Most service time of a write, in milliseconds. */
const maxWriteMs = 1;

/** The transactions that share a write are all reads or all writes. */
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

/** Sums of fractions are not exact. */
const nearlyAll = 1 - 1e-6;

/** Each connection takes one divided by the limit of its kind, so no kind keeps another waiting. */
export class ConcurrencyLimiter {
  #slots = 0;
  #inUse = 0;

  get isAtLimit(): boolean {
    return this.#inUse >= nearlyAll;
  }

  /** Returns how many more connections a kind with this limit could use, at least one. */
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

/** Larger bodies are large: PostgreSQL sends one of this size in about 6 ms. */
const minLargeBytes = 1024 * 1024;
/** After a large body, this many smaller ones of its kind show that the kind is not large. */
const largeKindTransactions = 100;

/** At most half of the connections carry large bodies: short transactions would wait for their end. */
export class LargeBodies {
  readonly #maxConnections: number;
  #inUse = 0;
  /** Kinds of transactions that were measured: how many more small bodies until they count as small. */
  readonly #kinds = new WeakMap<object, number>();

  constructor(poolSize: number) {
    this.#maxConnections = Math.max(1, Math.floor(poolSize / 2));
  }

  /** Whether one more connection may carry a large body. */
  get hasRoom(): boolean {
    return this.#inUse < this.#maxConnections;
  }

  /** Whether the kind had one lately; before the first measurement, whether rows are unlimited. */
  isExpected({ kind, access, statements }: Transaction): boolean {
    if (kind === null || access !== "read only") return false;
    const left = this.#kinds.get(kind);
    return left === undefined ? statements.some(({ framing }) => framing !== undefined) : left > 0;
  }

  /** Records the length of a body that was sent to its end. */
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

/** A transaction above this resets the estimate: its kind has to prove again that it is short. */
const resetAboveMs = 20;
/** Kinds below this are short. */
const maxShortMs = 1;
/** Measurements before the first verdict. */
const minSamples = 2;
/** A minimum that grows faster follows the load, which the connections that it allows raise. */
const growth = 1.01;
/** Milliseconds by which it grows as well, so that it leaves 0. */
const minGrowthMs = 0.0002;
/** After a transaction that delayed other ones, this many have to run alone before its kind is
 * pipelined again. */
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

  /** Records that a transaction delayed other ones, by a lock or by the size of its result. */
  recordDelay(): void {
    this.#cooldown = cooldownTransactions;
  }
}

/** The time a message takes to the server and back: the least that any transaction took lately. */
export class MinRoundTrip {
  #ms = Infinity;

  /** Milliseconds; 0 before the first measurement. */
  get ms(): number {
    return this.#ms === Infinity ? 0 : this.#ms;
  }

  /** Records what one write took up to its last reply; returns the service time of each of its transactions. */
  serviceTime(ms: number, transactions: number): number {
    if (transactions === 1) {
      this.#ms = Math.min(this.#ms * 1.001, ms);
      return ms - this.#ms;
    }
    // The minimum was measured too high if several transactions took less.
    const roundTrip = ms < this.#ms ? ms / transactions : this.#ms;
    return (ms - roundTrip) / (transactions - 1);
  }
}
