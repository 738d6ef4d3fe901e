/**
 * When a schema cache is loaded again although nobody asked for it: because it is old, or because it
 * was given from elsewhere and does not know a name.
 *
 * @module
 */
import type { ServiceError } from "../errors/service_error.ts";

/** How long a cache is good. */
export interface FreshnessOptions {
  /** The cache did not come from the database, so that a request may know better. */
  readonly given: boolean;
  /** Milliseconds; `Infinity` for caches that do not age. */
  readonly maxAge: number;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/** Milliseconds between two loads that requests cause. */
const shortestPause = 10_000;

/** Codes, without prefix, of errors that another schema might not have caused. */
const schemaErrors: ReadonlySet<string> = new Set([
  ...["200", "202", "204", "205"],
  ...["42703", "42883", "42P01"],
]);

/** Tells when to load; the owner says when that was done. */
export class Freshness {
  readonly #options: FreshnessOptions;
  #takenAt: number;
  #dueAt = -Infinity;

  constructor(options: FreshnessOptions) {
    this.#options = options;
    this.#takenAt = options.now();
  }

  /** The cache was loaded just now. */
  renewed(): void {
    this.#takenAt = this.#options.now();
  }

  /** Whether to load after a request that ended with `error`. Saying yes counts as an attempt. */
  isDue(error: ServiceError | null): boolean {
    const { given, maxAge, now } = this.#options;
    const missed = given && error !== null && schemaErrors.has(error.facts.code);
    if (!missed && maxAge === Infinity) return false;
    const time = now();
    if (!missed && time - this.#takenAt <= maxAge || time < this.#dueAt) return false;
    this.#dueAt = time + shortestPause;
    return true;
  }
}
