/** The transactions that wait for a connection, in the order of arrival. @module */
import { LinkedList, type ListMember } from "../../base/lib/linked_list.ts";
import type { Deadline } from "../../base/lib/time_limits.ts";
import type { Caller, QueueTiming } from "../database.ts";
import type { PendingTransaction } from "../connection/execution.ts";
import type { PipelineClass, ServiceTime } from "./concurrency_limiter.ts";

/** Maximum number of waiting transactions that are searched for one that may start. */
const maxLookups = 100;
/**
 * Writes that take longer use separate connections, where they wait for the disk at the same time.
 */
const maxPipelinedWriteMs = 0.5;

export interface QueuedTransaction extends PendingTransaction, ListMember<QueuedTransaction> {
  /** Null if nothing can cancel the transaction. */
  readonly caller: Caller | null;
  /** Null if the time in the queue is not measured. */
  readonly timing: QueueTiming | null;
  /** Null without a limit of time. */
  readonly deadline: Deadline | null;
  /** Null if the kind of the transaction is unknown. */
  readonly serviceTime: ServiceTime | null;
  /** Whether the limit of large bodies applies to the transaction. */
  readonly expectsLargeBody: boolean;
  /** Time of arrival in the queue, in milliseconds of the pool's clock; 0 before the arrival. */
  since: number;
  /** Whether the transaction was requeued, so that it is executed alone. */
  isRequeued: boolean;
  /** Stops listening for the caller to disconnect while the transaction waits; null if nothing listens. */
  stopListening: (() => void) | null;
}

/** Returns the class of transactions with which a transaction may share a write; null for none. */
export function pipelineOf(queued: QueuedTransaction): PipelineClass | null {
  const { transaction, isRequeued, serviceTime } = queued;
  if (isRequeued || serviceTime === null || !serviceTime.isShort) return null;
  if (transaction.block !== null) return null;
  if (transaction.access === "read only") return transaction.retry === "safe" ? "reads" : null;
  return serviceTime.ms <= maxPipelinedWriteMs ? "writes" : null;
}

/** Two lists, of transactions with and without large bodies. While no large body may start, the
 * search skips the first list. */
export class WaitQueue {
  readonly #large = new LinkedList<QueuedTransaction>();
  readonly #others = new LinkedList<QueuedTransaction>();

  get size(): number {
    return this.#large.size + this.#others.size;
  }

  add(queued: QueuedTransaction): void {
    this.#listOf(queued).add(queued);
  }

  /** Puts transactions at the head of the queue. */
  putBack(transactions: readonly QueuedTransaction[]): void {
    const heads = new Map([this.#large, this.#others].map((list) => [list, list.first]));
    for (const queued of transactions) {
      const list = this.#listOf(queued);
      list.add(queued, heads.get(list)!);
    }
  }

  remove(queued: QueuedTransaction): void {
    if (queued.list === null) return;
    queued.list.remove(queued);
    queued.stopListening?.();
    queued.stopListening = null;
  }

  /** Iterates over both lists, each in the order of arrival. The current member may be removed. */
  *[Symbol.iterator](): Iterator<QueuedTransaction> {
    yield* this.#large;
    yield* this.#others;
  }

  /** Removes and returns the first transaction that may start, and the transactions directly after it
   * that may share its write: at most `limit(first)` in all. */
  take(
    mayStart: (queued: QueuedTransaction) => boolean,
    limit: (first: QueuedTransaction, pipeline: PipelineClass) => number,
  ): readonly QueuedTransaction[] {
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

  #listOf({ expectsLargeBody }: QueuedTransaction): LinkedList<QueuedTransaction> {
    return expectsLargeBody ? this.#large : this.#others;
  }

  #first(mayStart: (queued: QueuedTransaction) => boolean): QueuedTransaction | null {
    const large = this.#large.first;
    const other = this.#firstOther(mayStart);
    if (large === null || !mayStart(large)) return other;
    return other === null || large.since <= other.since ? large : other;
  }

  #firstOther(mayStart: (queued: QueuedTransaction) => boolean): QueuedTransaction | null {
    let lookups = 0;
    for (const queued of this.#others) {
      if (mayStart(queued)) return queued;
      if (++lookups === maxLookups) break;
    }
    return null;
  }
}
