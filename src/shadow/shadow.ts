/** Repeats reads of an upstream server in this process, and compares the answers. @module */
import type { HandleApi } from "../admin/console_api.ts";
import { deferred } from "../lib/deferred.ts";
import { compareAnswers } from "./compare.ts";
import { rowOrder } from "./row_order.ts";
import type { ReadLine, Tally } from "./tally.ts";
import { maxComparedBytes, observedAnswer, type TimedAnswer } from "./timed_answer.ts";

/** Dependencies of a {@linkcode Shadow}. */
export interface ShadowOptions {
  /** Origin and path before the targets of requests, without a slash at the end. */
  readonly upstream: string;
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>;
  /** The handler that is compared. */
  readonly handle: HandleApi;
  readonly tally: Tally;
  /** Milliseconds of a monotonic clock. */
  readonly now: () => number;
}

/** A read without a body. */
export interface RepeatedRead extends ReadLine {
  readonly headers: Headers;
}

/** Reads of which an answer is kept until it is compared: at most 1 MiB each. */
const maxOpen = 64;
/** Comparisons that run at a time. Each takes a connection of the pool. */
const maxRunning = 4;

/** Compares reads within limits. Others are counted as not compared. */
export class Shadow {
  readonly #queue: (() => Promise<void>)[] = [];
  #open = 0;
  #running = 0;
  #isStopping = false;
  readonly #idle = deferred<void>();

  constructor(readonly options: ShadowOptions) {}

  /** Returns whether to compare a read. If so, call {@linkcode compareLater} once. */
  reserve(): boolean {
    const isFree = this.#open < maxOpen;
    if (isFree) this.#open++;
    else this.options.tally.notCompared++;
    return isFree;
  }

  /** Compares the answer to a read when others have ended; null stands for a failure. */
  compareLater(read: RepeatedRead, upstream: TimedAnswer | null): void {
    this.#queue.push(() => this.compare(read, this.#isStopping ? null : upstream));
    this.#runNext();
  }

  #runNext(): void {
    if (this.#isStopping && this.#running + this.#queue.length === 0) this.#idle.resolve();
    if (this.#running === maxRunning || this.#queue.length === 0) return;
    this.#running++;
    void this.#queue.shift()!().then(() => {
      this.#running--;
      this.#open--;
      this.#runNext();
    });
  }

  /** Begins no further comparison. Resolves when those that run have ended. */
  stop(): Promise<void> {
    this.#isStopping = true;
    this.#runNext();
    return this.#idle.promise;
  }

  /** Compares the answer to a read with that of the handler. Never rejects. */
  async compare(read: RepeatedRead, upstream: TimedAnswer | null): Promise<void> {
    const { handle, tally, upstream: base } = this.options;
    const { method, target, headers } = read;
    if (upstream === null) return void tally.notCompared++;
    try {
      const request = new Request(new URL(base).origin + target, { method, headers });
      const own = await this.#answer(() => handle(request, { isUnlogged: true }));
      const durations = [upstream.milliseconds, own.milliseconds] as const;
      const options = { order: rowOrder(target), noise: new Set<string>() };
      const found = compareAnswers(upstream, own, options);
      if (found.size === 0) return tally.add(read, found, durations);
      // Values of now() and the like differ between two answers of the upstream, too.
      const noise = new Set(compareAnswers(upstream, await this.request(read), options).keys());
      tally.add(read, compareAnswers(upstream, own, { ...options, noise }), durations);
    } catch {
      tally.notCompared++;
    }
  }

  /** Sends a read to the upstream. Rejects if that fails, or if the body is too long. */
  request({ method, target, headers }: RepeatedRead): Promise<TimedAnswer> {
    const { fetch, upstream } = this.options;
    return this.#answer(() => fetch(upstream + target, { method, headers, redirect: "manual" }));
  }

  async #answer(send: () => Promise<Response>): Promise<TimedAnswer> {
    const ended = deferred<TimedAnswer | null>();
    const { body } = await observedAnswer(send, this.options.now, ended.resolve);
    let bytes = 0;
    for await (const piece of body ?? []) if ((bytes += piece.length) > maxComparedBytes) break;
    const answer = await ended.promise;
    if (answer === null) throw new Error("the body is too long, or ended early");
    return answer;
  }
}
