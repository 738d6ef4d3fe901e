/**
 * How many connections carry large bodies at a time. The others of the pool stay free for short batches,
 * which would else wait until PostgreSQL has sent a large body to its end.
 *
 * @module
 */
import type { Batch } from "../batch.ts";

/** Larger bodies are large: PostgreSQL sends one of this size in about 6 ms. */
const minLargeBytes = 1024 * 1024;
/** After a large body, this many smaller ones of its kind show that the kind is not large. */
const largeKindBatches = 100;

/** Limits the connections of one pool that carry large bodies: half of them, at least one. */
export class LargeBodies {
  readonly #maxConnections: number;
  #inUse = 0;
  /** Kinds of batches that were measured: how many more small bodies until they count as small. */
  readonly #kinds = new WeakMap<object, number>();

  /** `poolSize` is the maximum number of connections. */
  constructor(poolSize: number) {
    this.#maxConnections = Math.max(1, Math.floor(poolSize / 2));
  }

  /** Whether one more connection may carry a large body. */
  get hasRoom(): boolean {
    return this.#inUse < this.#maxConnections;
  }

  /**
   * Whether to expect a large body: the kind has had one lately. Before the first measurement, whether
   * its number of rows is unlimited. Batches of unknown kind count as small.
   */
  isExpected({ kind, access, statements }: Batch): boolean {
    if (kind === null || access !== "read only") return false;
    const left = this.#kinds.get(kind);
    return left === undefined ? statements.some(({ framing }) => framing !== undefined) : left > 0;
  }

  /** Records the length of a body that was sent to its end. */
  record({ kind }: Batch, bytes: number): void {
    if (kind === null) return;
    const left = this.#kinds.get(kind) ?? 0;
    this.#kinds.set(kind, bytes > minLargeBytes ? largeKindBatches : Math.max(0, left - 1));
  }

  acquire(): void {
    this.#inUse++;
  }

  release(): void {
    this.#inUse--;
  }
}
