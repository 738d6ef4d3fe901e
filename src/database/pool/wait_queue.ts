/** The batches that wait for a connection, in the order of arrival. @module */
import { LinkedList, type ListMember } from "../../base/lib/linked_list.ts";
import type { Deadline } from "../../base/lib/time_limits.ts";
import type { Caller, QueueTiming } from "../database.ts";
import type { PendingBatch } from "../connection/execution.ts";
import type { PipelineClass, ServiceTime } from "./concurrency_limiter.ts";

/** How many waiting batches are looked through for one that may start. */
const maxLookups = 100;
/** Writes above this are executed on connections of their own, where they wait for the disk together. */
const maxPipelinedWriteMs = 0.5;

export interface QueuedBatch extends PendingBatch, ListMember<QueuedBatch> {
  /** Null where nothing cancels the batch. */
  readonly caller: Caller | null;
  /** Null where nothing measures the time in the queue. */
  readonly timing: QueueTiming | null;
  /** Null without a limit of time. */
  readonly deadline: Deadline | null;
  /** Null where the kind of the batch is unknown. */
  readonly serviceTime: ServiceTime | null;
  /** Whether it counts for the limit of connections with large bodies. */
  readonly expectsLargeBody: boolean;
  /** When it began to wait, in milliseconds of the pool's clock; 0 before that. */
  since: number;
  /** Whether it was requeued: it is not pipelined again. */
  isRequeued: boolean;
  /** Ends listening for its caller to leave while it waits; null while nothing listens. */
  stopListening: (() => void) | null;
}

/** Returns with which others a batch may share a write; null for none. */
export function pipelineOf(queued: QueuedBatch): PipelineClass | null {
  const { batch, isRequeued, serviceTime } = queued;
  if (isRequeued || serviceTime === null || !serviceTime.isShort) return null;
  if (batch.transaction.form !== "implicit") return null;
  if (batch.access === "read only") return batch.retry === "safe" ? "reads" : null;
  return serviceTime.ms <= maxPipelinedWriteMs ? "writes" : null;
}

/** Two lists: while no large body may start, the others need not look through these. */
export class WaitQueue {
  readonly #large = new LinkedList<QueuedBatch>();
  readonly #others = new LinkedList<QueuedBatch>();

  get size(): number {
    return this.#large.size + this.#others.size;
  }

  add(queued: QueuedBatch): void {
    this.#listOf(queued).add(queued);
  }

  /** Puts batches before all others. */
  putBack(batches: readonly QueuedBatch[]): void {
    const heads = new Map([this.#large, this.#others].map((list) => [list, list.first]));
    for (const queued of batches) {
      const list = this.#listOf(queued);
      list.add(queued, heads.get(list)!);
    }
  }

  remove(queued: QueuedBatch): void {
    if (queued.list === null) return;
    queued.list.remove(queued);
    queued.stopListening?.();
    queued.stopListening = null;
  }

  /** Iterates over both lists, each from the longest waiting one; each may be removed in its turn. */
  *[Symbol.iterator](): Iterator<QueuedBatch> {
    yield* this.#large;
    yield* this.#others;
  }

  /**
   * Removes and returns the first batch that may start, together with those directly behind it that may share
   * its write: at most `limit(first)` in all.
   */
  take(
    mayStart: (queued: QueuedBatch) => boolean,
    limit: (first: QueuedBatch, pipeline: PipelineClass) => number,
  ): readonly QueuedBatch[] {
    const first = this.#first(mayStart);
    if (first === null) return [];
    const pipeline = pipelineOf(first);
    const most = pipeline === null ? 1 : limit(first, pipeline);
    const taken = [first];
    for (let next = first.next; next !== null && taken.length < most; next = next.next) {
      if (pipelineOf(next) !== pipeline) break;
      taken.push(next);
    }
    for (const queued of taken) this.remove(queued);
    return taken;
  }

  #listOf({ expectsLargeBody }: QueuedBatch): LinkedList<QueuedBatch> {
    return expectsLargeBody ? this.#large : this.#others;
  }

  #first(mayStart: (queued: QueuedBatch) => boolean): QueuedBatch | null {
    const large = this.#large.first;
    const other = this.#firstOther(mayStart);
    if (large === null || !mayStart(large)) return other;
    return other === null || large.since <= other.since ? large : other;
  }

  #firstOther(mayStart: (queued: QueuedBatch) => boolean): QueuedBatch | null {
    let lookups = 0;
    for (const queued of this.#others) {
      if (mayStart(queued)) return queued;
      if (++lookups === maxLookups) break;
    }
    return null;
  }
}
