/** Reads the values of a streamed parameter, and keeps two executions on their way: PostgreSQL
 * works on one while the next is sent. @module */

/** The most values that are written and not yet acknowledged. */
export const maxValuesInFlight = 2;

/** Events of a feed. None is emitted after {@linkcode ParamFeed.stop}. */
interface FeedEvents {
  value(value: Uint8Array): void;
  /** All values were written and acknowledged. */
  ended(): void;
  /** The source failed. Values may still be in flight. */
  failed(error: unknown): void;
}

export class ParamFeed {
  readonly #values: AsyncIterator<Uint8Array>;
  readonly #events: FeedEvents;
  #state: "open" | "ended" | "stopped" = "open";
  #isReading = false;
  #inFlight = 0;

  constructor(values: AsyncIterable<Uint8Array>, events: FeedEvents) {
    this.#values = values[Symbol.asyncIterator]();
    this.#events = events;
  }

  /** How many values were written and not acknowledged. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /** Reads the next value, unless enough are in flight. */
  read(): void {
    if (this.#state !== "open" || this.#isReading || this.#inFlight >= maxValuesInFlight) return;
    this.#isReading = true;
    this.#values.next().then((result) => this.#receive(result), (error) => this.#fail(error));
  }

  /** The server has executed a value, or failed to. */
  acknowledge(): void {
    this.#inFlight--;
    if (this.#state === "ended" && this.#inFlight === 0) return this.#events.ended();
    this.read();
  }

  /** Reads no more, and lets the source release what it holds. */
  stop(): void {
    if (this.#state === "stopped") return;
    this.#state = "stopped";
    this.#values.return?.().catch(() => {});
  }

  #receive({ done, value }: IteratorResult<Uint8Array>): void {
    this.#isReading = false;
    if (this.#state !== "open") return;
    if (done) {
      this.#state = "ended";
      if (this.#inFlight === 0) this.#events.ended();
      return;
    }
    this.#inFlight++;
    this.#events.value(value);
    this.read();
  }

  #fail(error: unknown): void {
    this.#isReading = false;
    if (this.#state !== "open") return;
    this.#state = "stopped";
    this.#events.failed(error);
  }
}
