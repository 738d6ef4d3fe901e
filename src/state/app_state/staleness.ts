/** Detects a stale schema cache: it is too old, or it is external and lacks a name in a request. @module */
import type { ServiceError } from "../../base/errors/service_error.ts";

interface StalenessOptions {
  /** Whether the cache was not loaded from the database, so that it may lack names. */
  readonly isExternal: boolean;
  /** Milliseconds; `Infinity` for caches that do not age. */
  readonly maxAgeMs: number;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/** Minimum milliseconds between two loads that requests cause. */
const minReloadIntervalMs = 10_000;

/** Codes, without prefix, of errors that a stale schema cache may cause. */
const schemaErrors: ReadonlySet<string> = new Set([
  ...["200", "202", "204", "205"],
  ...["42703", "42883", "42P01"],
]);

/** Returns whether a missing name in the schema cache may have caused an error. */
export function mayBeStale({ fields }: ServiceError): boolean {
  return schemaErrors.has(fields.code);
}

/** Decides when a request reloads the schema cache. */
export class StalenessCheck {
  readonly #options: StalenessOptions;
  #loadedAt: number;
  #nextReloadAt = -Infinity;

  constructor(options: StalenessOptions) {
    this.#options = options;
    this.#loadedAt = options.now();
  }

  /** Restarts the cache's age after a load. */
  markLoaded(): void {
    this.#loadedAt = this.#options.now();
  }

  /**
   * Returns whether a request that ended with `error` must reload the cache. Returns true at most
   * once in 10 seconds.
   */
  claimReload(error: ServiceError | null): boolean {
    const { isExternal, maxAgeMs, now } = this.#options;
    const lacksName = isExternal && error !== null && mayBeStale(error);
    if (!lacksName && maxAgeMs === Infinity) return false;
    const time = now();
    if (!lacksName && time - this.#loadedAt <= maxAgeMs || time < this.#nextReloadAt) return false;
    this.#nextReloadAt = time + minReloadIntervalMs;
    return true;
  }
}
