/**
 * How many connections carry short batches at a time, and how many of these share a write.
 *
 * While these connections are busy, short batches wait although other connections are free: one write
 * for several saves work on both sides, and a server with few processors ends them sooner than one whose
 * processes compete for the processors.
 *
 * @module
 */

/** Connections for short batches, at the least. */
const minConnections = 2;
/** Each of these of service time, or of round trip above `nearMs`, adds a connection. */
const stepMs = 0.2;
/** Below this service time one connection is enough: this process is then the bottleneck. */
const singleConnectionMs = 0.05;
/** Up to this round trip the server counts as near. */
const nearMs = 0.3;
/** Most batches of a write. Writes wait for locks, and a batch behind one that waits cannot be moved. */
const maxBatches = { reads: 16, writes: 4 } as const;
/** Most service time of a write, in milliseconds. */
const maxWriteMs = 1;

/** The batches that share a write are all reads or all writes. */
export type PipelineClass = keyof typeof maxBatches;

/** Measurements that the limits depend on. */
export interface Load {
  readonly serviceTimeMs: number;
  readonly roundTripMs: number;
  /** Size of the pool. */
  readonly maxConnections: number;
}

/** Returns how many connections may carry batches of one kind at a time. */
export function connectionLimit({ serviceTimeMs, roundTripMs, maxConnections }: Load): number {
  const wayMs = Math.max(0, roundTripMs - nearMs);
  if (serviceTimeMs < singleConnectionMs && wayMs === 0) return 1;
  const limit = minConnections + Math.floor(serviceTimeMs / stepMs + wayMs / stepMs);
  return Math.min(maxConnections, limit);
}

/** Returns how many of `waiting` batches of one kind share the next write. */
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
  return Math.max(1, Math.min(maxBatches[pipeline], byTime, byQueue));
}

/** Sums of fractions are not exact. */
const nearlyAll = 1 - 1e-6;

/**
 * Counts the connections that carry short batches. Each takes a share: one divided by the limit of its
 * kind. All kinds draw on the same sum, so that none can keep another waiting.
 */
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
