/** Measures how late the event loop runs timers. @module */
import type { MetricRegistry } from "./metric_registry.ts";
import { type Schedule, untilNextSecond } from "../lib/timers.ts";

/** Minimum time that the reported maximum covers. */
const windowMs = 60_000;

/** The event loop's delays of the last one to two minutes. */
export class EventLoopDelay {
  readonly #schedule: Schedule;
  readonly #now: () => number;
  #windowStart = 0;
  #longestMs = 0;
  #previousLongestMs = 0;
  #cancel = () => {};

  /** `now` returns milliseconds. */
  constructor(schedule: Schedule, now: () => number) {
    this.#schedule = schedule;
    this.#now = now;
  }

  /** Starts to measure, and registers the metric. */
  start(registry: MetricRegistry): void {
    registry.gauge({
      name: "event_loop_delay_seconds",
      help: "Longest delay of the event loop in the last minute or two",
    }, () => [[[], Math.max(this.#longestMs, this.#previousLongestMs) / 1000]]);
    this.#windowStart = this.#now();
    this.#wait();
  }

  stop(): void {
    this.#cancel();
  }

  #wait(): void {
    const pauseMs = untilNextSecond(this.#now());
    const dueAt = this.#now() + pauseMs;
    this.#cancel = this.#schedule(() => {
      const now = this.#now();
      if (now - this.#windowStart >= windowMs) {
        this.#windowStart = now;
        this.#previousLongestMs = this.#longestMs;
        this.#longestMs = 0;
      }
      this.#longestMs = Math.max(this.#longestMs, now - dueAt);
      this.#wait();
    }, pauseMs);
  }
}
