/** A bounded cache of verified tokens. @module */
import type { ApiKey } from "../config/api_keys.ts";
import { LinkedList, type ListMember } from "../../base/lib/linked_list.ts";
import type { KeySet } from "./keys.ts";
import type { RolePath } from "./role_claim.ts";
import type { VerifiedToken } from "./jwt.ts";
import type { TokenIssuer } from "./verify_token.ts";

/** The role and claims of a request. */
export interface Identity {
  /** Database role. */
  readonly role: string;
  /** Whether the role differs from the anonymous role. */
  readonly authenticated: boolean;
  /** JSON text for `request.jwt.claims`, with `role` set to the role above. */
  readonly claims: string;
  /** The API key of the request. Default: none. */
  readonly key?: ApiKey;
}

/** A verified token, and its identity under the current settings. */
export interface CachedToken {
  readonly token: VerifiedToken;
  readonly issuer: TokenIssuer;
  /** The fetched set that holds the token's key; null for a key of the configuration. */
  readonly keySet: KeySet | null;
  readonly rolePath: RolePath;
  readonly dbAnonRole: string | null;
  /** Null if the token has no role under these settings. */
  readonly identity: Identity | null;
}

/** Totals since the creation of the cache. */
export interface JwtCacheCounts {
  readonly lookups: number;
  readonly hits: number;
  readonly evictions: number;
}

/** Receives the lookups and evictions of the cache. */
export type JwtCacheListener = (
  event: { readonly kind: "jwt-cache-lookup" } | { readonly kind: "jwt-cache-evicted" },
) => void;

interface CacheNode extends ListMember<CacheNode> {
  readonly text: string;
  entry: CachedToken;
  visited: boolean;
}

/**
 * Caches verified tokens by their text, up to a maximum number. Evicts by SIEVE (Zhang et al., "SIEVE
 * is Simpler than LRU", NSDI 2024): a hand moves from the oldest entry to the newest and wraps around.
 * It clears the visited mark of each marked entry, and evicts the first unmarked one.
 *
 * Entries do not expire: the caller checks the claims of a cached token.
 */
export class JwtCache {
  readonly #nodes = new Map<string, CacheNode>();
  #maxEntries: number;
  /** The nodes in the order of insertion. */
  readonly #list = new LinkedList<CacheNode>();
  #hand: CacheNode | null = null;
  /** Receives lookups and evictions; null if tracing is off. */
  #listener: JwtCacheListener | null = null;
  #lookups = 0;
  #hits = 0;
  #evictions = 0;

  constructor(maxEntries: number) {
    this.#maxEntries = maxEntries;
  }

  /** Returns the entry of a token, and reports the lookup. */
  get(text: string): CachedToken | undefined {
    this.#lookups++;
    this.#listener?.({ kind: "jwt-cache-lookup" });
    const node = this.#nodes.get(text);
    if (node === undefined) return undefined;
    this.#hits++;
    node.visited = true;
    return node.entry;
  }

  /** Inserts or replaces the entry of a token. A replaced entry keeps its age. */
  set(text: string, entry: CachedToken): void {
    const present = this.#nodes.get(text);
    if (present !== undefined) {
      present.entry = entry;
      return;
    }
    while (this.#nodes.size > 0 && this.#nodes.size >= this.#maxEntries) this.#evict();
    const links = { list: null, previous: null, next: null };
    const node: CacheNode = { text, entry, visited: false, ...links };
    this.#list.add(node);
    this.#nodes.set(text, node);
  }

  /** Sets the maximum number of entries. The next insertion evicts surplus entries. */
  resize(maxEntries: number): void {
    this.#maxEntries = maxEntries;
  }

  /** Sets the listener of lookups and evictions; null removes it. */
  setListener(listener: JwtCacheListener | null): void {
    this.#listener = listener;
  }

  get size(): number {
    return this.#nodes.size;
  }

  counts(): JwtCacheCounts {
    return { lookups: this.#lookups, hits: this.#hits, evictions: this.#evictions };
  }

  #evict(): void {
    const list = this.#list;
    let node = this.#hand ?? list.first;
    while (node?.visited) {
      node.visited = false;
      node = node.next ?? list.first;
    }
    if (node === null) return;
    this.#hand = node.next;
    list.remove(node);
    this.#nodes.delete(node.text);
    this.#evictions++;
    this.#listener?.({ kind: "jwt-cache-evicted" });
  }
}

/** Creates a cache; returns null if `maxEntries` is 0 or less. */
export function createJwtCache(maxEntries: number): JwtCache | null {
  return maxEntries > 0 ? new JwtCache(maxEntries) : null;
}
