/** The list of revoked tokens of a service, and when it is read again. @module */
import { indexRevocations, type Revocation, type RevocationIndex } from "../auth/revocations.ts";
import type { FunctionName } from "../config/codecs.ts";
import { errors } from "../../base/errors/catalogue.ts";
import type { Schedule } from "../../base/lib/timers.ts";
import type { Observation } from "../../base/observe/observation.ts";
import { Reloader } from "./reloader.ts";

interface RevocationDependencies {
  /** Returns the value of `jwt-revocations`; null without a list. */
  readonly source: () => FunctionName | null;
  readonly read: (source: FunctionName) => Promise<readonly Revocation[]>;
  /** Whether notifications of changes arrive. */
  readonly isNotified: () => boolean;
  /** Reports that the list cannot be read. */
  readonly reportFailure: (thrown: unknown) => void;
  readonly observe: (event: Observation) => void;
  /** Called after each read that succeeds. */
  readonly onLoaded: () => void;
  /** `unshared`: I/O and timers belong to one request. */
  readonly sharing: "shared" | "unshared";
  /** Epoch milliseconds. */
  readonly now: () => number;
  readonly schedule: Schedule;
}

/** Most rows of the list, which is in memory. */
export const maxRevocations = 100_000;

/** Age at which the list is read again if notifications do not arrive. */
const maxAgeMs = 60_000;

export interface LoadedRevocations {
  readonly source: FunctionName;
  readonly index: RevocationIndex;
}

/** Keeps the list of revoked tokens. A list that cannot be read again stays as it is. */
export class RevocationList {
  readonly #dependencies: RevocationDependencies;
  readonly #loader: Reloader;
  #loaded: LoadedRevocations | null = null;
  /** When the last read began, in epoch milliseconds. */
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

  /** The list as it was last read; null before. */
  get loaded(): LoadedRevocations | null {
    return this.#loaded;
  }

  /** Returns whole seconds until the next attempt after a failure; 1 if none is scheduled. */
  retryAfter(): number {
    return this.#loader.secondsLeft() ?? 1;
  }

  /**
   * Returns the current list, or null if `jwt-revocations` is not set; a promise while the list has to be
   * read. Throws, or rejects with, `errors.revocationsUnavailable` if it was never read.
   */
  current(): RevocationIndex | null | Promise<RevocationIndex> {
    const source = this.#dependencies.source();
    if (source === null) return null;
    const index = this.#indexOf(source);
    if (index === null) return this.#firstIndex(source);
    if (this.#dependencies.sharing === "shared" || !this.#isOld) return index;
    return this.#loader.request().then(() => this.#indexOf(source) ?? index);
  }

  /**
   * Reads the list again. Resolves when the attempt has succeeded or failed. Without shared I/O, the next
   * request reads the list.
   */
  async reload(): Promise<void> {
    if (this.#dependencies.sharing === "unshared") this.#readAt = -Infinity;
    else if (this.#dependencies.source() !== null) await this.#loader.request();
  }

  /** Reads the list again from now on, each minute in which notifications do not arrive. */
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
      // Retries until the next success have no lines in the log.
      if (!this.#isFailing) this.#dependencies.reportFailure(thrown);
      this.#isFailing = true;
      throw thrown;
    }
  }
}

/** Returns the revocations of a source; null if the list is of another one, or was never read. */
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
