/** Figures per second of the last 15 minutes, for the console. @module */
import type { PoolCounts } from "../../../database/database.ts";
import { percentile } from "../../../base/lib/percentile.ts";

/** Gauges at the end of a second. */
export interface Gauges {
  readonly pool: Pick<PoolCounts, "open" | "inUse" | "waiting">;
  /** Resident memory in bytes; null if the runtime does not report it. */
  readonly memory: number | null;
}

export interface SecondFigures extends Gauges {
  /** Epoch seconds. */
  readonly time: number;
  /** Numbers of requests by the first digit of their status: `2xx` is at index 1. */
  readonly statuses: readonly number[];
  /** Percentiles of durations in ms; null for seconds without requests. */
  readonly p50: number | null;
  readonly p95: number | null;
  readonly p99: number | null;
}

/** Requests of the current second. */
export interface CountedRequests {
  /** Numbers of requests by the first digit of their status: `2xx` is at index 1. */
  readonly statuses: readonly number[];
  /** Durations of a sample of the requests, in milliseconds. */
  readonly durations: readonly number[];
  readonly count: number;
}

const keptSeconds = 900;

/** Maximum number of durations per second for percentiles. A further duration replaces a random one. */
const maxSamples = 2000;

/** Collects the figures of requests, second by second. */
export class LiveFigures {
  readonly #seconds = new Ring<SecondFigures>(keptSeconds);
  #current = noRequests();

  /** Adds a request to the current second. */
  record({ status, durationMs }: { readonly status: number; readonly durationMs: number }): void {
    const { statuses, durations, count } = this.#current;
    const index = Math.min(5, Math.max(1, Math.floor(status / 100))) - 1;
    statuses[index]!++;
    const place = count < maxSamples ? count : Math.floor(Math.random() * (count + 1));
    if (place < maxSamples) durations[place] = durationMs;
    this.#current.count++;
  }

  /** Returns and resets the numbers of the current second. */
  take(): CountedRequests {
    const taken = this.#current;
    this.#current = noRequests();
    return taken;
  }

  /** Adds the numbers of another thread to the current second. */
  add({ statuses, durations, count }: CountedRequests): void {
    statuses.forEach((sum, index) => this.#current.statuses[index]! += sum);
    this.#current.durations.push(...durations);
    this.#current.count += count;
  }

  /** Ends the current second at a time in epoch ms. */
  endSecond(now: number, gauges: Gauges): void {
    const { statuses, durations } = this.take();
    const sorted = durations.toSorted((a, b) => a - b);
    this.#seconds.add({
      time: Math.floor(now / 1000),
      statuses,
      p50: percentile(sorted, 0.5),
      p95: percentile(sorted, 0.95),
      p99: percentile(sorted, 0.99),
      ...gauges,
    });
  }

  /** Returns the seconds whose number is above `id`, oldest first. */
  after(id: number): readonly Numbered<SecondFigures>[] {
    return this.#seconds.after(id);
  }
}

function noRequests() {
  return { statuses: [0, 0, 0, 0, 0], durations: [] as number[], count: 0 };
}

/** An entry with its number, from 1. */
export type Numbered<Entry> = Entry & { readonly id: number };

/** Stores the newest entries, and drops older ones. */
export class Ring<Entry> {
  readonly #capacity: number;
  readonly #entries: Numbered<Entry>[] = [];
  #last = 0;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  add(entry: Entry): void {
    this.#entries[this.#last % this.#capacity] = { ...entry, id: ++this.#last };
  }

  /** Returns the stored entries whose number is above `id`, oldest first. */
  after(id: number): readonly Numbered<Entry>[] {
    const start = this.#last % this.#capacity;
    return [...this.#entries.slice(start), ...this.#entries.slice(0, start)]
      .filter((entry) => entry.id > id);
  }
}
