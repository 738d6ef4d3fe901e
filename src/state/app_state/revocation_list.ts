/** The list of revoked tokens of a service, and the times of its reads. @module */
import { indexRevocations, type Revocation, type RevocationIndex } from "../auth/revocations.ts";
import type { FunctionName } from "../config/codecs.ts";
import { errors } from "../../base/errors/catalogue.ts";
import type { Schedule } from "../../base/lib/timers.ts";
import type { Observation } from "../../base/observe/observation.ts";
import { Reloader } from "./reloader.ts";

interface RevocationDependencies {
  /** Returns the value of `jwt-revocations`; null if it is not set. */
  readonly source: () => FunctionName | null;
  readonly read: (source: FunctionName) => Promise<readonly Revocation[]>;
  /** Whether notifications of changes arrive. */
  readonly isNotified: () => boolean;
  /** Reports that a read of the list failed. */
  readonly reportFailure: (thrown: unknown) => void;
  readonly observe: (event: Observation) => void;
  /** Called after each successful read. */
  readonly onLoaded: () => void;
  /** `unshared`: the runtime ends I/O and timers with the request that started them. */
  readonly sharing: "shared" | "unshared";
  /** Epoch milliseconds. */
  readonly now: () => number;
  readonly schedule: Schedule;
}

/** Maximum number of rows, which are kept in memory. */
export const maxRevocations = 100_000;

/** Age at which the list is read again while notifications do not arrive. */
const maxAgeMs = 60_000;

export interface LoadedRevocations {
  readonly source: FunctionName;
  readonly index: RevocationIndex;
}

/** Stores the list of revoked tokens. If a read fails, the previous list stays valid. */
export class RevocationList {
  readonly #dependencies: RevocationDependencies;
  readonly #loader: Reloader;
  #loaded: LoadedRevocations | null = null;
  /** Start of the last read, in epoch milliseconds. */
  #readAt = -Infinity;
  #isFailing = false;
  /** The read in progress. */
  #running: Promise<void> | null = null;
  #cancelTimer = () => {};

  constructor(dependencies: RevocationDependencies) {
    this.#dependencies = dependencies;
    const load = () => this.#running = this.#load().finally(() => this.#running = null);
    this.#loader = new Reloader({
      ...dependencies,
      load,
      isRetried: () => true,
      onRetry: () => {},
    });
  }

  /** The last list that was read; null before the first. */
  get loaded(): LoadedRevocations | null {
    return this.#loaded;
  }

  /** Returns whole seconds until the next attempt after a failure; 1 if none is scheduled. */
  retryAfter(): number {
    return this.#loader.secondsLeft() ?? 1;
  }

  /**
   * Returns the current list, or null if `jwt-revocations` is not set. Returns a promise if the
   * list must be read first. Throws or rejects with `errors.revocationsUnavailable` if no read has
   * succeeded.
   */
  current(): RevocationIndex | null | Promise<RevocationIndex> {
    const source = this.#dependencies.source();
    if (source === null) return null;
    const index = this.#indexOf(source);
    if (index === null) return this.#firstIndex(source);
    if (this.#dependencies.sharing === "shared" || !this.#isOld) return index;
    return this.#loader.request().then(() => this.#indexOf(source) ?? index);
  }

  /** Reads the list again. Resolves when the attempt has succeeded or failed. If I/O is not shared,
   * the next request reads the list instead. */
  async reload(): Promise<void> {
    if (this.#dependencies.sharing === "unshared") this.#readAt = -Infinity;
    else if (this.#dependencies.source() !== null) await this.#loader.request();
  }

  /** Starts to read the list each minute while notifications do not arrive. */
  start(): void {
    if (this.#dependencies.sharing === "unshared") return;
    this.#cancelTimer();
    this.#cancelTimer = this.#dependencies.schedule(() => {
      if (!this.#dependencies.isNotified()) void this.reload();
      this.start();
    }, maxAgeMs);
  }

  stop(): void {
    this.#cancelTimer();
    this.#loader.stop();
  }

  get #isOld(): boolean {
    return this.#dependencies.now() - this.#readAt >= maxAgeMs;
  }

  #indexOf(source: FunctionName): RevocationIndex | null {
    return indexOf(this.#loaded, source);
  }

  async #firstIndex(source: FunctionName): Promise<RevocationIndex> {
    const { sharing } = this.#dependencies;
    if (sharing === "shared" && this.#running !== null) await this.#running.catch(() => {});
    // While a retry is scheduled, requests need not wait for it.
    else if (this.#loader.secondsLeft() === null) await this.#loader.request();
    const index = this.#indexOf(source);
    if (index !== null) return index;
    throw errors.revocationsUnavailable(this.retryAfter());
  }

  async #load(): Promise<void> {
    const source = this.#dependencies.source();
    if (source === null) return;
    this.#readAt = this.#dependencies.now();
    try {
      const list = await this.#dependencies.read(source);
      if (list.length > maxRevocations) throw tooManyRevocations();
      this.#loaded = { source, index: indexRevocations(list) };
      this.#isFailing = false;
      this.#dependencies.observe({ kind: "revocations-loaded", count: list.length });
      this.#dependencies.onLoaded();
    } catch (thrown) {
      // Only the first of several consecutive failures is logged.
      if (!this.#isFailing) this.#dependencies.reportFailure(thrown);
      this.#isFailing = true;
      throw thrown;
    }
  }
}

/** Returns the revocations of a source; null if the list belongs to another source, or was never read. */
export function indexOf(
  loaded: LoadedRevocations | null,
  { schema, name }: FunctionName,
): RevocationIndex | null {
  if (loaded === null) return null;
  return loaded.source.schema === schema && loaded.source.name === name ? loaded.index : null;
}

function tooManyRevocations(): Error {
  return errors.internal(`The list of revoked tokens has more than ${maxRevocations} rows`);
}
