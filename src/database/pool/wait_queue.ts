/**
 * The batches that wait for a connection, in the order of arrival.
 *
 * @module
 */
import type { RequestDeadline } from "../../lib/request_deadline.ts";
import type { Caller, QueueTiming } from "../database.ts";
import type { PendingBatch } from "../connection/execution.ts";
import type { PipelineClass } from "./concurrency_limiter.ts";
import type { ServiceTime } from "./service_time.ts";

/** How many waiting batches are looked through for one that may start. */
const maxLookups = 100;
/** Writes above this are executed on connections of their own, where they wait for the disk together. */
const maxPipelinedWriteMs = 0.5;

/** Place of a batch in the queue. */
interface QueueNode {
  readonly queued: QueuedBatch;
  previous: QueueNode | null;
  next: QueueNode | null;
}

/** Which batch leaves a queue first. */
export type QueueOrder = "oldest first" | "newest first";

const followers: Readonly<Record<QueueOrder, (node: QueueNode) => QueueNode | null>> = {
  "oldest first": ({ next }) => next,
  "newest first": ({ previous }) => previous,
};

/** A batch that a pool is to execute. */
export interface QueuedBatch extends PendingBatch {
  /** Null where nothing cancels the batch. */
  readonly caller: Caller | null;
  /** Null where nothing measures the time in the queue. */
  readonly timing: QueueTiming | null;
  /** Null without a limit of time. */
  readonly deadline: RequestDeadline | null;
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
  /** Null while it is not in the queue. */
  node: QueueNode | null;
}

/** Returns with which others a batch may share a write; null for none. */
export function pipelineOf(queued: QueuedBatch): PipelineClass | null {
  const { batch, isRequeued, serviceTime } = queued;
  if (isRequeued || serviceTime === null || !serviceTime.isShort) return null;
  if (batch.transaction.form !== "implicit") return null;
  if (batch.access === "read only") return batch.retry === "safe" ? "reads" : null;
  return serviceTime.ms <= maxPipelinedWriteMs ? "writes" : null;
}

/**
 * Batches in the order of arrival, in two lists: while no batch with a large body may start, the others
 * need not look through these.
 */
export class WaitQueue {
  readonly #large = new LinkedList();
  readonly #others = new LinkedList();

  get size(): number {
    return this.#large.size + this.#others.size;
  }

  add(queued: QueuedBatch): void {
    this.#listOf(queued).insertBefore(queued, null);
  }

  /** Puts batches before all others. */
  putBack(batches: readonly QueuedBatch[]): void {
    const heads = new Map([this.#large, this.#others].map((list) => [list, list.head]));
    for (const queued of batches) {
      const list = this.#listOf(queued);
      list.insertBefore(queued, heads.get(list)!);
    }
  }

  remove(queued: QueuedBatch): void {
    if (!this.#listOf(queued).remove(queued)) return;
    queued.stopListening?.();
    queued.stopListening = null;
  }

  /** Iterates over both lists, each from the longest waiting one; each may be removed in its turn. */
  *[Symbol.iterator](): Iterator<QueuedBatch> {
    yield* this.#large;
    yield* this.#others;
  }

  /**
   * Removes and returns the first batch that may start, together with those directly behind it, in the
   * same order, that may share its write: at most `limit(first)` in all.
   */
  take(
    mayStart: (queued: QueuedBatch) => boolean,
    limit: (first: QueuedBatch, pipeline: PipelineClass) => number,
    order: QueueOrder = "oldest first",
  ): readonly QueuedBatch[] {
    const follow = followers[order];
    let node = this.#first(mayStart, order);
    if (node === null) return noBatches;
    const first = node.queued;
    const pipeline = pipelineOf(first);
    const most = pipeline === null ? 1 : limit(first, pipeline);
    const taken = [first];
    for (node = follow(node); node !== null && taken.length < most; node = follow(node)) {
      if (pipelineOf(node.queued) !== pipeline) break;
      taken.push(node.queued);
    }
    for (const queued of taken) this.remove(queued);
    return taken;
  }

  #listOf({ expectsLargeBody }: QueuedBatch): LinkedList {
    return expectsLargeBody ? this.#large : this.#others;
  }

  /** Returns the batch that has waited longest, or shortest, of those that may start. */
  #first(mayStart: (queued: QueuedBatch) => boolean, order: QueueOrder): QueueNode | null {
    const large = this.#large.end(order);
    const other = this.#others.find(mayStart, order);
    if (large === null || !mayStart(large.queued)) return other;
    if (other === null) return large;
    const isLargeOlder = large.queued.since <= other.queued.since;
    return isLargeOlder === (order === "oldest first") ? large : other;
  }
}

/**
 * A linked list: removes any member in constant time. A `Set` would grow and rehash all the time, and each
 * discarded table keeps its batches in memory until a full garbage collection.
 */
class LinkedList {
  #head: QueueNode | null = null;
  #tail: QueueNode | null = null;
  #size = 0;

  get head(): QueueNode | null {
    return this.#head;
  }

  get size(): number {
    return this.#size;
  }

  insertBefore(queued: QueuedBatch, next: QueueNode | null): void {
    const previous = next === null ? this.#tail : next.previous;
    const node: QueueNode = { queued, previous, next };
    if (previous === null) this.#head = node;
    else previous.next = node;
    if (next === null) this.#tail = node;
    else next.previous = node;
    queued.node = node;
    this.#size++;
  }

  /** Removes a batch; false if it is not in the list. */
  remove(queued: QueuedBatch): boolean {
    const { node } = queued;
    if (node === null) return false;
    const { previous, next } = node;
    if (previous === null) this.#head = next;
    else previous.next = next;
    if (next === null) this.#tail = previous;
    else next.previous = previous;
    node.previous = null;
    node.next = null;
    queued.node = null;
    this.#size--;
    return true;
  }

  *[Symbol.iterator](): Iterator<QueuedBatch> {
    for (let node = this.#head; node !== null;) {
      const { queued, next } = node;
      yield queued;
      node = next;
    }
  }

  /** Returns the member that comes first in an order. */
  end(order: QueueOrder): QueueNode | null {
    return order === "oldest first" ? this.#head : this.#tail;
  }

  /** Returns the first member that may start, of those that are looked through. */
  find(mayStart: (queued: QueuedBatch) => boolean, order: QueueOrder): QueueNode | null {
    const follow = followers[order];
    let node = this.end(order);
    for (let lookups = 0; node !== null && lookups < maxLookups; lookups++, node = follow(node)) {
      if (mayStart(node.queued)) return node;
    }
    return null;
  }
}

const noBatches: readonly QueuedBatch[] = [];
