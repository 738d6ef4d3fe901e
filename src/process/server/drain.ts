/** Drains a server before it closes. The drain holds responses until no more requests arrive. Then
 * the server can close the listening socket and idle connections without losing an unread request.
 * @module */
import { withTimeout } from "../../base/lib/time_limits.ts";
import { deferred } from "../../base/lib/deferred.ts";
import type { Schedule } from "../../base/lib/timers.ts";

export interface DrainTimes {
  /** Milliseconds without a request after which no further request is expected. */
  readonly idleMs: number;
  /** Maximum number of checks of `idleMs` each. */
  readonly maxChecks: number;
  /** Maximum milliseconds in which bodies may arrive. */
  readonly maxBodyMs: number;
}

const defaultTimes: DrainTimes = { idleMs: 25, maxChecks: 6, maxBodyMs: 15_000 };

/**
 * Holds the responses of a server between {@linkcode Drain.hold} and {@linkcode Drain.release}.
 *
 * A client that waits for a response sends no further request on the same connection. So while the
 * drain holds all responses, each connection is either idle and can be closed, or has a request
 * that the server has received.
 */
export class Drain {
  readonly #wait: (milliseconds: number) => Promise<void>;
  readonly #times: DrainTimes;
  readonly #bodies = new Set<Promise<void>>();
  #requests = 0;
  #held: Promise<void> | null = null;
  #release = () => {};
  #closesConnections = false;

  constructor(wait: (milliseconds: number) => Promise<void>, times: DrainTimes = defaultTimes) {
    this.#wait = wait;
    this.#times = times;
  }

  /** Number of requests since the start. */
  get requests(): number {
    return this.#requests;
  }

  countRequest(): void {
    this.#requests++;
  }

  /** Records that a body is arriving. Returns a function to call at its end. */
  countBody(): () => void {
    const { promise, resolve } = deferred<void>();
    this.#bodies.add(promise);
    return () => {
      this.#bodies.delete(promise);
      resolve();
    };
  }

  /** Makes each further response the last of its connection. */
  closeConnections(): void {
    this.#closesConnections = true;
  }

  /** True after {@linkcode closeConnections}. Responses must then {@linkcode pass} the drain. */
  get isDraining(): boolean {
    return this.#closesConnections;
  }

  /** Holds responses. Resolves after `idleMs` without a request, or after `maxChecks` checks. */
  async hold(): Promise<void> {
    this.closeConnections();
    this.#held ??= new Promise((resolve) => this.#release = resolve);
    for (let check = 0; check < this.#times.maxChecks; check++) {
      const before = this.#requests;
      await this.#wait(this.#times.idleMs);
      if (this.#requests === before) return;
    }
  }

  /** Holds responses while no body arrives, and releases them while a body arrives, for at most
   * `maxBodyMs`. Servers that interrupt bodies when they close need this. */
  async holdBetweenBodies(schedule?: Schedule): Promise<void> {
    let isOver = false;
    const holdAgain = async () => {
      while (!isOver && this.#bodies.size > 0) {
        this.release();
        await Promise.all(this.#bodies);
        if (!isOver) await this.hold();
      }
    };
    await this.hold();
    await withTimeout(this.#times.maxBodyMs, holdAgain(), schedule);
    isOver = true;
    if (this.#held === null) await this.hold();
  }

  release(): void {
    this.#release();
    this.#held = null;
  }

  /** Waits until the drain releases the response, and makes it the last of its connection. */
  async pass(response: Response): Promise<Response> {
    await this.#held;
    if (this.isDraining) response.headers.set("Connection", "close");
    return response;
  }
}
