/** The keys of issuers in a thread that does not fetch them: another thread fetches the documents
 * and sends them. @module */
import { errors } from "../errors/catalogue.ts";
import { importKeys, type KeyDocuments, keysExpireAt, type LoadedKeys } from "./key_loader.ts";
import type { KeySet } from "./keys.ts";
import {
  hasKid,
  type IssuerKeys,
  type IssuerKeySource,
  keySetId,
  type KeySetNames,
} from "./remote_key_set.ts";

/** Result of a query of another thread: null for success, else the seconds until its next attempt. */
export type KeyRefusal = { readonly retryAfter: number } | null;

/** Dependencies of {@linkcode FollowedKeySets}. */
export interface FollowedKeyDependencies {
  /**
   * Requests the keys with an id of `keySetId` and with a `kid` from the fetching thread. Resolves after
   * {@linkcode FollowedKeySets.take} has received what was fetched.
   */
  readonly requestKeys: (id: string, kid: string | null) => Promise<KeyRefusal>;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/** Milliseconds between two queries for unknown `kid`s, so that a flood of them stays in its thread. */
const unknownKidIntervalMs = 1000;

/** Holds the keys that another thread fetches. */
export class FollowedKeySets implements IssuerKeySource {
  readonly #dependencies: FollowedKeyDependencies;
  readonly #sets = new Map<string, FollowedKeySet>();
  #loaded: ReadonlyMap<string, LoadedKeys> = new Map();

  constructor(dependencies: FollowedKeyDependencies) {
    this.#dependencies = dependencies;
  }

  get(names: KeySetNames): IssuerKeys {
    const id = keySetId(names);
    let set = this.#sets.get(id);
    if (set === undefined) {
      const loaded = () => this.#loaded.get(id) ?? null;
      this.#sets.set(id, set = new FollowedKeySet(names, loaded, this.#dependencies));
    }
    return set;
  }

  /** Replaces all documents. A key that was known before stays the same object. */
  async take(documents: ReadonlyMap<string, KeyDocuments>): Promise<void> {
    const imported = Array.from(documents, async ([id, each]) => {
      return [id, await importKeys(each, this.#loaded.get(id) ?? null)] as const;
    });
    this.#loaded = new Map(await Promise.all(imported));
  }
}

/** The keys of one issuer. */
class FollowedKeySet implements IssuerKeys {
  readonly #names: KeySetNames;
  readonly #loaded: () => LoadedKeys | null;
  readonly #dependencies: FollowedKeyDependencies;
  /** Queries without an answer, by `kid`. */
  readonly #queries = new Map<string | null, Promise<KeyRefusal>>();
  /** Time of the last query for an unknown `kid`, in epoch milliseconds. */
  #unknownKidAt = -Infinity;

  constructor(
    names: KeySetNames,
    loaded: () => LoadedKeys | null,
    dependencies: FollowedKeyDependencies,
  ) {
    this.#names = names;
    this.#loaded = loaded;
    this.#dependencies = dependencies;
  }

  current(): KeySet | Promise<KeySet> {
    const loaded = this.#loaded();
    if (loaded !== null && this.#dependencies.now() < keysExpireAt(loaded)) return loaded.keySet;
    return this.#query(null);
  }

  setWithKey(kid: string | null): KeySet | Promise<KeySet> {
    const current = this.current();
    if (current instanceof Promise || kid === null || hasKid(current, kid)) return current;
    const now = this.#dependencies.now();
    if (!this.#queries.has(kid) && now < this.#unknownKidAt + unknownKidIntervalMs) return current;
    this.#unknownKidAt = now;
    return this.#query(kid);
  }

  async #query(kid: string | null): Promise<KeySet> {
    let query = this.#queries.get(kid);
    if (query === undefined) {
      query = this.#dependencies.requestKeys(keySetId(this.#names), kid)
        .finally(() => this.#queries.delete(kid));
      this.#queries.set(kid, query);
    }
    const refusal = await query;
    const loaded = this.#loaded();
    if (refusal === null && loaded !== null) return loaded.keySet;
    const { issuer } = this.#names;
    throw errors.keysUnavailable({ issuer, retryAfter: refusal?.retryAfter ?? 1 });
  }
}
