/** Repeats reads from an upstream server in this process, and compares the responses. @module */
import { compareAnswers, rowOrder } from "./compare.ts";
import type { Tally } from "./tally.ts";
import { observedAnswer, type TimedAnswer } from "./timed_answer.ts";
import type { HandleApi } from "../../api/handler/handler.ts";
import type { ReadLine } from "./shape.ts";

export interface ShadowOptions {
  /** Origin and path that precede the targets of requests, without a slash at the end. */
  readonly upstream: string;
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>;
  /** The handler that is compared. */
  readonly handle: HandleApi;
  readonly tally: Tally;
  /** Milliseconds of a monotonic clock. */
  readonly now: () => number;
  /** Decides which reads are compared. */
  readonly isSampled: () => boolean;
  /** Resolves when a finished response is on its way to the client. */
  readonly pause: () => Promise<void>;
}

/** A read without a body. */
export interface RepeatedRead extends ReadLine {
  readonly headers: Headers;
}

/** Maximum number of reads whose response is stored for comparison, with at most 256 KiB each. */
const maxOpen = 64;
/** Maximum number of concurrent comparisons. Each uses a connection of the pool. */
const maxRunning = 4;
/** Timeout in milliseconds for the upstream, which would otherwise block all comparisons. */
const timeoutMs = 60_000;

/** Compares reads within limits. Further reads are only counted. */
export class Shadow {
  readonly #lanes = Array.from({ length: maxRunning }, () => Promise.resolve());
  #count = 0;
  #open = 0;
  #isStopping = false;

  constructor(readonly options: ShadowOptions) {}

  /** Returns whether to compare a read. If true, {@linkcode compareLater} must be called once. */
  reserve(): boolean {
    const isFree = this.#open < maxOpen && this.options.isSampled();
    if (isFree) this.#open++;
    else this.options.tally.notCompared++;
    return isFree;
  }

  /** Compares the response of the upstream after earlier comparisons. `upstream` is null if the read failed. */
  compareLater(read: RepeatedRead, upstream: TimedAnswer | null): void {
    const lane = this.#count++ % maxRunning;
    this.#lanes[lane] = this.#lanes[lane]!.then(this.options.pause)
      .then(() => this.compare(read, this.#isStopping ? null : upstream))
      .then(() => void this.#open--);
  }

  /** Starts no further comparison. Resolves when the running ones have ended. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await Promise.all(this.#lanes);
  }

  /** Compares the upstream's response to a read with the handler's response. Never rejects. */
  async compare(read: RepeatedRead, upstream: TimedAnswer | null): Promise<void> {
    const { handle, tally, upstream: base } = this.options;
    const { method, target, headers } = read;
    // Compares nothing if the upstream refuses requests for now, because a repeated read would add to its load.
    const isOverload = upstream?.status === 429 || (upstream?.status ?? 0) >= 502;
    if (upstream === null || isOverload) return void tally.notCompared++;
    try {
      const request = new Request(new URL(base).origin + target, { method, headers });
      const svc = await this.#answer(() => handle(request, { isUnlogged: true }));
      const durations = [upstream.milliseconds, svc.milliseconds] as const;
      const options = { order: rowOrder(target), noise: new Set<string>() };
      const differences = compareAnswers(upstream, svc, options);
      if (differences.size === 0) return tally.add(read, differences, durations);
      // Ignores values that also differ between two answers of the upstream, such as now().
      const noise = new Set(compareAnswers(upstream, await this.request(read), options).keys());
      tally.add(read, compareAnswers(upstream, svc, { ...options, noise }), durations);
    } catch {
      tally.notCompared++;
    }
  }

  /** Sends a read to the upstream. Rejects if that fails, or if the body is too long. */
  request({ method, target, headers }: RepeatedRead): Promise<TimedAnswer> {
    const { fetch, upstream } = this.options;
    const signal = AbortSignal.timeout(timeoutMs);
    const init = { method, headers, signal, redirect: "manual" } as const;
    return this.#answer(() => fetch(upstream + target, init));
  }

  async #answer(send: () => Promise<Response>): Promise<TimedAnswer> {
    const { response, copy } = await observedAnswer(send, this.options.now);
    await response.body?.pipeTo(new WritableStream());
    const answer = await copy;
    if (answer === null) throw new Error("the body is too long");
    return answer;
  }
}
