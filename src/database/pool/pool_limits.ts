/** Decides which transactions of a pool may start, and how many share a write. Uses measurements of
 * earlier transactions. @module */
import type { Transaction } from "../transaction.ts";
import { maxHeldBytes } from "../connection/body_receiver.ts";
import {
  ConcurrencyLimiter,
  connectionLimit,
  LargeBodies,
  MinRoundTrip,
  type PipelineClass,
  pipelineLength,
  ServiceTime,
} from "./concurrency_limiter.ts";
import type { Work } from "./pooled_connection.ts";
import { pipelineOf, type QueuedTransaction } from "./wait_queue.ts";

export class PoolLimits {
  readonly #limiter = new ConcurrencyLimiter();
  readonly #largeBodies: LargeBodies;
  readonly #serviceTimes = new WeakMap<object, ServiceTime>();
  readonly #roundTrip = new MinRoundTrip();

  constructor(private readonly maxConnections: number) {
    this.#largeBodies = new LargeBodies(maxConnections);
  }

  serviceTimeOf(kind: object): ServiceTime {
    let serviceTime = this.#serviceTimes.get(kind);
    if (serviceTime === undefined) this.#serviceTimes.set(kind, serviceTime = new ServiceTime());
    return serviceTime;
  }

  expectsLargeBody(transaction: Transaction): boolean {
    return this.#largeBodies.isExpected(transaction);
  }

  mayStart(queued: QueuedTransaction): boolean {
    if (queued.expectsLargeBody && !this.#largeBodies.hasRoom) return false;
    return !this.#limiter.isAtLimit || pipelineOf(queued) === null;
  }

  /** Returns how many waiting transactions share the write of the first one. */
  pipelineLength(first: QueuedTransaction, pipeline: PipelineClass, waiting: number): number {
    return pipelineLength(pipeline, {
      serviceTimeMs: first.serviceTime!.ms,
      waiting,
      freeConnections: this.#limiter.freeConnections(this.#limitOf(first)),
    });
  }

  /** Takes a share of the limits for a connection; {@linkcode release} returns it. */
  acquire(first: QueuedTransaction): number | null {
    if (first.expectsLargeBody) this.#largeBodies.acquire();
    return pipelineOf(first) === null ? null : this.#limiter.acquire(this.#limitOf(first));
  }

  release(work: Work): void {
    this.releaseShare(work);
    if (work.transactions[0]!.expectsLargeBody) this.#largeBodies.release();
  }

  /** Frees the connection's share of the concurrency limit, because long work must not keep it. */
  releaseShare(work: Work): void {
    if (work.share !== null) this.#limiter.release(work.share);
    work.share = null;
  }

  /** Records the length of a body. A streamed body has delayed the transactions after its transaction. */
  recordBody(
    queued: QueuedTransaction,
    bytes: number,
    { isWhole }: { readonly isWhole: boolean },
  ): void {
    if (isWhole) this.#largeBodies.record(queued.transaction, bytes);
    if (bytes > maxHeldBytes) queued.serviceTime?.recordDelay();
  }

  /** Records that the work of a connection succeeded. */
  recordWork({ transactions, startedAt }: Work, now: number): void {
    const ms = this.#roundTrip.serviceTime(now - startedAt, transactions.length);
    for (const { serviceTime } of transactions) serviceTime?.record(ms);
  }

  #limitOf({ serviceTime }: QueuedTransaction): number {
    return connectionLimit({
      serviceTimeMs: serviceTime!.ms,
      roundTripMs: this.#roundTrip.ms,
      maxConnections: this.maxConnections,
    });
  }
}
