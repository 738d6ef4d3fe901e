/** The keys of issuers, which the service fetches and refreshes. @module */
import { errors } from "../../base/errors/catalogue.ts";
import { getOrMake } from "../../base/lib/group_by.ts";
import type { Counter, MetricRegistry, Sample } from "../../base/observe/metric_registry.ts";
import type { Observation } from "../../base/observe/observation.ts";
import { KeyFetchError } from "./fetch_document.ts";
import {
  type FetchDependencies,
  fetchKeys,
  type KeyLocation,
  type LoadedKeys,
} from "./key_loader.ts";
import type { KeySet } from "./keys.ts";

/** Keeps the runtime running until the promise settles; undefined if the runtime does so anyway. */
export type WaitUntil = ((work: Promise<void>) => void) | undefined;

/** Dependencies of a {@linkcode RemoteKeySet}. */
export interface KeyDependencies extends FetchDependencies {
  readonly observe: (event: Observation) => void;
  /** Counter of fetches by issuer and result. */
  readonly fetches: Counter;
  /** `shared`: requests share one fetch. `unshared`: I/O ends with its request, so that no request
   * waits for the fetch of another. */
  readonly sharing: "shared" | "unshared";
}

/** Identifies an issuer to operators. */
export interface KeySetNames {
  readonly location: KeyLocation;
  /** `iss` of the tokens; null for any. Error responses contain it. */
  readonly issuer: string | null;
}

/** Minimum time between two fetches for an unknown `kid`. */
const unknownKidCooldownMs = 30_000;

const maxBackoffSeconds = 60;

/**
 * Stores the keys of an issuer. Requests start a refresh when 80 % of the maximum age have passed.
 * If the source fails, the fetch is retried with exponential backoff up to 60 s. Known keys stay
 * usable for `maxStaleMs` after they expire.
 */
export class RemoteKeySet {
  readonly #names: KeySetNames;
  readonly #dependencies: KeyDependencies;
  readonly #maxStaleMs: number;
  #loaded: LoadedKeys | null = null;
  /** Resolves when the fetch in progress ends. Never settles if the runtime ends I/O with the request. */
  #running: Promise<void> | null = null;
  #backoffSeconds = 0;
  /** Epoch milliseconds before which no fetch may begin. */
  #retryAt = -Infinity;
  #unknownKidAt = -Infinity;
  /** The last fetch that a request with an unknown `kid` has awaited. */
  #unknownKidFetch: Promise<void> | null = null;

  constructor(names: KeySetNames, maxStaleMs: number, dependencies: KeyDependencies) {
    this.#names = names;
    this.#maxStaleMs = maxStaleMs;
    this.#dependencies = dependencies;
  }

  /** Fetches the keys unless they are known. */
  prefetch(): void {
    if (this.#loaded === null && this.#running === null) void this.#fetch();
  }

  /** The issuer, or the URL of the keys without its query. */
  get label(): string {
    const { location, issuer } = this.#names;
    if (issuer !== null) return issuer;
    return location.kind === "url" ? location.url.replace(/\?.*$/, "") : location.issuer;
  }

  /** Seconds since the last successful fetch; null before the first successful fetch. */
  get ageSeconds(): number | null {
    if (this.#loaded === null) return null;
    return (this.#dependencies.now() - this.#loaded.fetchedAt) / 1000;
  }

  /** Returns the current keys; a promise if they must be fetched first. Throws or rejects with
   * `errors.keysUnavailable` if no usable keys are known. */
  current(waitUntil?: WaitUntil): KeySet | Promise<KeySet> {
    const loaded = this.#loaded;
    const now = this.#dependencies.now();
    if (loaded !== null && now < loaded.dueAt) return loaded.keySet;
    if (now < this.#retryAt) return this.#servingKeys();
    const isFailing = this.#backoffSeconds > 0;
    const isServing = loaded !== null &&
      now < loaded.expiresAt + (isFailing ? this.#maxStaleMs : 0);
    if (isServing && this.#refreshInBackground(waitUntil)) return loaded.keySet;
    return this.#join().then(() => this.#servingKeys());
  }

  /** Returns the keys for a token with this `kid`. If no key has it, fetches the keys, at most once
   * every 30 s. Throws or rejects with `errors.keysUnavailable`. */
  setWithKey(kid: string | null, waitUntil?: WaitUntil): KeySet | Promise<KeySet> {
    const current = this.current(waitUntil);
    if (current instanceof Promise || kid === null) return current;
    if (current.keys.some((key) => key.kid === kid)) return current;
    const isForUnknownKid = this.#running !== null && this.#running === this.#unknownKidFetch &&
      this.#dependencies.sharing === "shared";
    if (!isForUnknownKid && !this.#mayFetchForUnknownKid()) return current;
    const fetched = this.#join();
    if (!isForUnknownKid) this.#unknownKidAt = this.#dependencies.now();
    this.#unknownKidFetch = this.#running;
    return fetched.then(() => this.#servingKeys());
  }

  /** Returns whether a request with an unknown `kid` may wait for a fetch, once in {@linkcode
   * unknownKidCooldownMs}. */
  #mayFetchForUnknownKid(): boolean {
    const now = this.#dependencies.now();
    if (now < this.#unknownKidAt + unknownKidCooldownMs) return false;
    return this.#running !== null || now >= this.#retryAt;
  }

  #servingKeys(): KeySet {
    const now = this.#dependencies.now();
    const loaded = this.#loaded;
    if (loaded !== null && now < loaded.expiresAt + this.#maxStaleMs) return loaded.keySet;
    const retryAfter = Math.max(1, Math.ceil((this.#retryAt - now) / 1000));
    throw errors.keysUnavailable({ issuer: this.#names.issuer, retryAfter });
  }

  /** Starts a refresh in the background. Returns false if the runtime would end it with the request. */
  #refreshInBackground(waitUntil: WaitUntil): boolean {
    if (this.#running !== null) return true;
    if (this.#dependencies.sharing === "unshared" && waitUntil === undefined) return false;
    const refreshed = this.#fetch();
    waitUntil?.(refreshed);
    return true;
  }

  /** Waits for the fetch in progress. If requests share no I/O, starts a new fetch. */
  #join(): Promise<void> {
    const isShared = this.#dependencies.sharing === "shared";
    return isShared && this.#running !== null ? this.#running : this.#fetch();
  }

  /** Fetches the keys. Never rejects. */
  #fetch(): Promise<void> {
    const running = this.#attempt().finally(() => {
      if (this.#running === running) this.#running = null;
    });
    this.#running = running;
    return running;
  }

  async #attempt(): Promise<void> {
    const { observe, fetches } = this.#dependencies;
    const previous = this.#loaded;
    try {
      this.#loaded = await fetchKeys(this.#names.location, previous, this.#dependencies);
    } catch (error) {
      return this.#fail(error);
    }
    this.#backoffSeconds = 0;
    this.#retryAt = -Infinity;
    fetches.increment(this.label, "success");
    const { keySet, invalidKeys: places } = this.#loaded;
    if (keySet === previous?.keySet || places.length === 0) return;
    observe({ kind: "jwks-keys-skipped", issuer: this.label, places });
  }

  /** Schedules a retry. Only the first failure of an outage is logged. */
  #fail(error: unknown): void {
    const { observe, now, fetches } = this.#dependencies;
    fetches.increment(this.label, "failure");
    const isFirst = this.#backoffSeconds === 0;
    this.#backoffSeconds = isFirst ? 1 : Math.min(this.#backoffSeconds * 2, maxBackoffSeconds);
    this.#retryAt = now() + this.#backoffSeconds * 1000;
    if (!isFirst) return;
    // The message of another error could quote keys.
    const reason = error instanceof KeyFetchError ? error.message : "the keys cannot be read";
    observe({ kind: "jwks-failed", issuer: this.label, reason });
  }
}

/** Milliseconds for which expired keys stay usable while their source fails. */
const maxStaleMs = 86_400_000;

/** The key sets that a service fetches. A reload keeps sets that the new configuration names. */
export class RemoteKeySets {
  readonly #dependencies: KeyDependencies;
  readonly #sets = new Map<string, RemoteKeySet>();
  #isStarted = false;

  /** Registers the metrics of the key sets. */
  constructor(
    { metricRegistry, ...dependencies }:
      & Omit<KeyDependencies, "fetches">
      & { readonly metricRegistry: MetricRegistry },
  ) {
    const fetches = metricRegistry.counter({
      name: "jwks_fetches_total",
      help: "The total number of fetches of an issuer's key set",
      labels: ["issuer", "result"],
    });
    metricRegistry.gauge({
      name: "jwks_age_seconds",
      help: "Seconds since the last successful fetch of an issuer's key set",
      labels: ["issuer"],
    }, () => this.#ages());
    this.#dependencies = { ...dependencies, fetches };
  }

  /** Returns the key set of an issuer. An existing set keeps its keys. */
  get(names: KeySetNames): RemoteKeySet {
    const make = () => new RemoteKeySet(names, maxStaleMs, this.#dependencies);
    return getOrMake(this.#sets, JSON.stringify(names), make);
  }

  /** Forgets all key sets except the used ones. */
  keep(used: ReadonlySet<RemoteKeySet>): void {
    for (const [id, set] of this.#sets) if (!used.has(set)) this.#sets.delete(id);
    if (this.#isStarted) this.start();
  }

  /** Starts to fetch keys before requests need them, also for later configurations. */
  start(): void {
    this.#isStarted = true;
    for (const set of this.#sets.values()) set.prefetch();
  }

  #ages(): readonly Sample[] {
    return Array.from(this.#sets.values()).flatMap(({ label, ageSeconds }) =>
      ageSeconds === null ? [] : [[[label], ageSeconds] as const]
    );
  }
}
