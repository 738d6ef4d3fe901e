/**
 * Measures how far standbys lag, by samples of the primary's position. It needs no privileges, and an idle
 * primary causes no lag.
 *
 * @module
 */
import { maxAnswerMs } from "./monitor.ts";

/** The primary's position at a time. */
interface PositionSample {
  /** Milliseconds of the monitors' clock. */
  readonly time: number;
  readonly lsn: bigint;
}

/** Most samples; they are further apart if the span is long. */
const maxSamples = 1000;

/** Samples of the last milliseconds, the oldest first. */
export class LagRing {
  #spanMs: number;
  #samples: PositionSample[] = [];
  #newest: PositionSample | null = null;

  constructor(spanMs: number) {
    this.#spanMs = spanMs;
  }

  /** Sets how far back the samples reach. */
  configure(spanMs: number): void {
    this.#spanMs = spanMs;
  }

  add(sample: PositionSample): void {
    if (this.#newest !== null && sample.lsn < this.#newest.lsn) return;
    this.#newest = sample;
    const last = this.#samples.at(-1);
    if (last !== undefined && sample.time - last.time < this.#spanMs / maxSamples) return;
    this.#samples.push(sample);
    // The one before the span tells that a standby at it lags too far.
    const outdated = this.#samples.findIndex(({ time }) => time > sample.time - this.#spanMs) - 1;
    if (outdated > 0) this.#samples.splice(0, outdated);
  }

  /** Forgets the samples, as those of another timeline. */
  clear(): void {
    this.#samples = [];
    this.#newest = null;
  }

  /**
   * Returns the time at which the primary was at most at a position that a standby had replayed at `now`;
   * the difference is the standby's lag. Returns -Infinity if it is before all samples.
   */
  freshAt(lsn: bigint, now: number): number {
    const newest = this.#newest;
    // A sample that is as old as an answer may be still is the primary's position.
    const isNewest = newest !== null && lsn >= newest.lsn && now - newest.time <= maxAnswerMs;
    return isNewest ? now : this.#sampledAt(lsn);
  }

  /** Whether a standby that has replayed up to a position has all that the primary had at a time. */
  covers(lsn: bigint, time: number): boolean {
    return this.#sampledAt(lsn) >= time;
  }

  /** Whether a sample is at least as late as a time. */
  hasSampleSince(time: number): boolean {
    return this.#newest !== null && this.#newest.time >= time;
  }

  /** Returns the time of the latest sample that is not behind a position; -Infinity without one. */
  #sampledAt(lsn: bigint): number {
    if (this.#newest === null) return -Infinity;
    if (lsn >= this.#newest.lsn) return this.#newest.time;
    return this.#samples.findLast((sample) => sample.lsn <= lsn)?.time ?? -Infinity;
  }
}
