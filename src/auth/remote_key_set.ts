/** The keys of one issuer, which the service fetches and keeps fresh. @module */
import { errors } from "../errors/catalogue.ts";
import type { Counter } from "../observe/metric_registry.ts";
import type { Observation } from "../observe/observation.ts";
import { type DocumentDependencies, storeDocument } from "./document_cache.ts";
import { KeyFetchError } from "./fetch_document.ts";
import {
  fetchKeys,
  type KeyLocation,
  keysDueAt,
  keysExpireAt,
  type LoadedKeys,
  storedKeys,
} from "./key_loader.ts";
import type { KeySet } from "./keys.ts";

/** The request for which keys are fetched. */
export interface FetchScope {
  /** Keeps the runtime running until the promise settles; null if it does so anyway. */
  readonly waitUntil: ((work: Promise<void>) => void) | null;
}

/** The scope of work that belongs to no request, or of a runtime that needs no `waitUntil`. */
export const noScope: FetchScope = { waitUntil: null };

/** Dependencies of a {@linkcode RemoteKeySet}. */
export interface KeyDependencies extends DocumentDependencies {
  readonly observe: (event: Observation) => void;
  /** Counts the fetches by issuer and result. */
  readonly fetches: Counter;
  /**
   * `shared`: requests wait for one fetch, and timers refresh the keys. `unshared`: I/O belongs to one
   * request, so a request neither waits for the fetch of another one nor starts a timer that outlives it.
   */
  readonly sharing: "shared" | "unshared";
}

/** Identifies an issuer to operators. */
export interface KeySetNames {
  readonly location: KeyLocation;
  /** `iss` of the tokens; null if they may have any. Error responses contain it. */
  readonly issuer: string | null;
}

/** Time after a fetch for an unknown `kid` in which further ones cause none. */
const unknownKidCooldownMs = 30_000;

const maxBackoffSeconds = 60;

/**
 * Keeps the keys of an issuer. It refreshes them from 80 % of their age on. If the source fails, it
 * retries with exponential backoff of at most 60 s, and serves the known keys for `maxStaleMs` longer
 * than they are fresh.
 */
export class RemoteKeySet {
  readonly #names: KeySetNames;
  readonly #dependencies: KeyDependencies;
  readonly #maxStaleMs: number;
  #loaded: LoadedKeys | null = null;
  /** The fetch in progress; resolves when it ends. A runtime that ends I/O with its request may lose it. */
  #running: Promise<void> | null = null;
  #backoffSeconds = 0;
  /** Epoch milliseconds before which no fetch begins. */
  #retryAt = -Infinity;
  #unknownKidAt = -Infinity;
  /** The last fetch that a token with an unknown `kid` waited for. */
  #unknownKidFetch: Promise<void> | null = null;
  #cancelTimer = () => {};
  #isRefreshedByTimer = false;

  constructor(names: KeySetNames, maxStaleMs: number, dependencies: KeyDependencies) {
    this.#names = names;
    this.#maxStaleMs = maxStaleMs;
    this.#dependencies = dependencies;
  }

  /** Fetches the keys now, and keeps them fresh by a timer. */
  start(): void {
    if (this.#isRefreshedByTimer || this.#dependencies.sharing === "unshared") return;
    this.#isRefreshedByTimer = true;
    if (this.#loaded === null && this.#running === null) void this.#fetch(noScope);
    else this.#setTimer();
  }

  /** Cancels the timer. */
  stop(): void {
    this.#isRefreshedByTimer = false;
    this.#cancelTimer();
  }

  /** The issuer, or the URL of the keys without its query. */
  get label(): string {
    const { location, issuer } = this.#names;
    if (issuer !== null) return issuer;
    return location.kind === "url" ? location.url.replace(/\?.*$/, "") : location.issuer;
  }

  /** Seconds since the last successful fetch; null before the first one. */
  get ageSeconds(): number | null {
    if (this.#loaded === null) return null;
    return (this.#dependencies.now() - this.#loaded.document.fetchedAt) / 1000;
  }

  /**
   * Returns the current keys; a promise while they have to be fetched. Throws, or rejects with,
   * `errors.keysUnavailable` if no keys may still serve.
   */
  current(scope: FetchScope): KeySet | Promise<KeySet> {
    const loaded = this.#loaded;
    const now = this.#dependencies.now();
    if (loaded !== null && now < keysDueAt(loaded)) return loaded.keySet;
    if (now < this.#retryAt) return this.#servingKeys();
    const isFailing = this.#backoffSeconds > 0;
    const isServing = loaded !== null &&
      now < keysExpireAt(loaded) + (isFailing ? this.#maxStaleMs : 0);
    if (isServing && this.#refreshInBackground(scope)) return loaded.keySet;
    return this.#join(scope).then(() => this.#servingKeys());
  }

  /**
   * Returns the keys for a token with this `kid`. Fetches them once if none has it, at most every 30 s.
   * Throws, or rejects with, `errors.keysUnavailable`.
   */
  setWithKey(kid: string | null, scope: FetchScope): KeySet | Promise<KeySet> {
    const current = this.current(scope);
    if (current instanceof Promise || kid === null || hasKid(current, kid)) return current;
    const isForUnknownKid = this.#running !== null && this.#running === this.#unknownKidFetch &&
      this.#dependencies.sharing === "shared";
    if (!isForUnknownKid && !this.#mayFetchForUnknownKid()) return current;
    const fetched = this.#join(scope);
    if (!isForUnknownKid) this.#unknownKidAt = this.#dependencies.now();
    this.#unknownKidFetch = this.#running;
    return fetched.then(() => this.#servingKeys());
  }

  /** A request may also wait for a fetch in progress, once in the same time. */
  #mayFetchForUnknownKid(): boolean {
    const now = this.#dependencies.now();
    if (now < this.#unknownKidAt + unknownKidCooldownMs) return false;
    return this.#running !== null || now >= this.#retryAt;
  }

  #servingKeys(): KeySet {
    const now = this.#dependencies.now();
    const loaded = this.#loaded;
    if (loaded !== null && now < keysExpireAt(loaded) + this.#maxStaleMs) return loaded.keySet;
    const retryAfter = Math.max(1, Math.ceil((this.#retryAt - now) / 1000));
    throw errors.keysUnavailable({ issuer: this.#names.issuer, retryAfter });
  }

  /** Starts a refresh that no request waits for. Returns false if the runtime would end it. */
  #refreshInBackground(scope: FetchScope): boolean {
    if (this.#running !== null) return true;
    if (this.#dependencies.sharing === "unshared" && scope.waitUntil === null) return false;
    const refreshed = this.#fetch(scope);
    scope.waitUntil?.(refreshed);
    return true;
  }

  /** Waits for the fetch in progress, or for a new one where requests share no I/O. */
  #join(scope: FetchScope): Promise<void> {
    const isShared = this.#dependencies.sharing === "shared";
    return isShared && this.#running !== null ? this.#running : this.#fetch(scope);
  }

  /** Fetches the keys. Never rejects. */
  #fetch(scope: FetchScope): Promise<void> {
    const running = this.#attempt(scope).finally(() => {
      if (this.#running === running) this.#running = null;
      this.#setTimer();
    });
    this.#running = running;
    return running;
  }

  async #attempt(scope: FetchScope): Promise<void> {
    if (await this.#takeStored()) return;
    const previous = this.#loaded;
    let loaded: LoadedKeys;
    try {
      loaded = await fetchKeys(this.#names.location, previous, this.#dependencies);
    } catch (error) {
      this.#fail(error);
      return;
    }
    this.#succeed(loaded);
    this.#dependencies.fetches.increment(this.label, "success");
    if (loaded.keySet !== previous?.keySet) this.#reportInvalidKeys(loaded);
    this.#store(loaded, previous, scope);
  }

  /** Schedules a retry. An outage has one line in the log. */
  #fail(error: unknown): void {
    const { observe, now, fetches } = this.#dependencies;
    fetches.increment(this.label, "failure");
    const isFirst = this.#backoffSeconds === 0;
    this.#backoffSeconds = isFirst ? 1 : Math.min(this.#backoffSeconds * 2, maxBackoffSeconds);
    this.#retryAt = now() + this.#backoffSeconds * 1000;
    if (isFirst) observe({ kind: "jwks-failed", issuer: this.label, reason: reasonOf(error) });
  }

  /** Takes keys that another instance has stored. Returns whether they are fresh. */
  async #takeStored(): Promise<boolean> {
    const { store, now } = this.#dependencies;
    const previous = this.#loaded;
    const isRefresh = previous === null || now() >= keysDueAt(previous);
    if (store === null || !isRefresh) return false;
    const stored = await storedKeys(this.#names.location, previous, this.#dependencies);
    if (stored === null) return false;
    if (previous !== null && stored.document.fetchedAt <= previous.document.fetchedAt) return false;
    const isFresh = now() < keysDueAt(stored);
    if (isFresh) this.#succeed(stored);
    else this.#loaded = stored;
    return isFresh;
  }

  #succeed(loaded: LoadedKeys): void {
    this.#loaded = loaded;
    this.#backoffSeconds = 0;
    this.#retryAt = -Infinity;
  }

  #store(loaded: LoadedKeys, previous: LoadedKeys | null, scope: FetchScope): void {
    if (this.#dependencies.store === null) return;
    const { discovery, document } = loaded;
    const isNew = discovery !== null && discovery !== previous?.discovery;
    const documents = isNew ? [discovery, document] : [document];
    const stored = Promise.all(
      documents.map((one) => storeDocument(one, this.#maxStaleMs, this.#dependencies)),
    ).then(() => {});
    try {
      scope.waitUntil?.(stored);
    } catch {
      // The request has ended; the next instance may have to fetch the keys.
    }
  }

  #reportInvalidKeys({ keySet: { invalidKeys } }: LoadedKeys): void {
    if (invalidKeys.length === 0) return;
    this.#dependencies.observe({
      kind: "jwks-keys-skipped",
      issuer: this.label,
      places: invalidKeys,
    });
  }

  #setTimer(): void {
    this.#cancelTimer();
    if (!this.#isRefreshedByTimer) return;
    const { now, schedule } = this.#dependencies;
    const dueAt = this.#loaded === null ? now() : keysDueAt(this.#loaded);
    const waitMs = Math.max(dueAt, this.#retryAt) - now();
    this.#cancelTimer = schedule(() => {
      if (this.#running === null) void this.#fetch(noScope);
    }, Math.max(waitMs, 0));
  }
}

function hasKid({ keys }: KeySet, kid: string): boolean {
  return keys.some((key) => key.kid === kid);
}

/** Errors other than `KeyFetchError` may quote keys. */
function reasonOf(error: unknown): string {
  return error instanceof KeyFetchError ? error.message : "the keys cannot be read";
}
