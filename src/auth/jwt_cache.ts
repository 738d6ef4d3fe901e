/**
 * A bounded cache of verified tokens.
 *
 * @module
 */
import type { RolePath } from "./role_claim.ts";
import type { VerifiedToken } from "./jwt.ts";

/** What a request runs as. */
export interface Identity {
  /** Database role. */
  readonly role: string;
  /** Whether the role differs from the anonymous role. */
  readonly authenticated: boolean;
  /** JSON text for `request.jwt.claims`, with `role` set to the role above. */
  readonly claims: string;
}

/** A verified token, and who it makes of a request under the settings it was last used with. */
export interface CachedToken {
  readonly token: VerifiedToken;
  readonly rolePath: RolePath;
  readonly dbAnonRole: string | null;
  /** `null` when the token gives no role under these settings. */
  readonly identity: Identity | null;
}

/** Totals since the cache was made. */
export interface JwtCacheCounts {
  readonly lookups: number;
  readonly hits: number;
  readonly evictions: number;
}

/** Is told what happens in the cache. */
export type JwtCacheListener = (
  event: { readonly kind: "jwt-cache-lookup" } | { readonly kind: "jwt-cache-evicted" },
) => void;

/** An entry in the order of insertion. */
interface CacheNode {
  readonly text: string;
  entry: CachedToken;
  visited: boolean;
  older: CacheNode | null;
  newer: CacheNode | null;
}

/**
 * Keeps verified tokens by their text, as many as it is allowed, and evicts by SIEVE: a hand moves
 * from the oldest entry towards the newest and around, takes back the visited mark of what was used
 * since it came by, and evicts the first entry without one. (Zhang et al., "SIEVE is Simpler than
 * LRU", NSDI 2024.)
 *
 * It knows no time: whoever looks a token up checks its claims.
 */
export class JwtCache {
  readonly #nodes = new Map<string, CacheNode>();
  #maxEntries: number;
  #oldest: CacheNode | null = null;
  #newest: CacheNode | null = null;
  #hand: CacheNode | null = null;
  /** Who is told of each use; nobody unless somebody watches. */
  #listener: JwtCacheListener | null = null;
  #lookups = 0;
  #hits = 0;
  #evictions = 0;

  constructor(maxEntries: number) {
    this.#maxEntries = maxEntries;
  }

  /** Gives the entry of a token, and counts the look-up. */
  get(text: string): CachedToken | undefined {
    this.#lookups++;
    this.#listener?.({ kind: "jwt-cache-lookup" });
    const node = this.#nodes.get(text);
    if (node === undefined) return undefined;
    this.#hits++;
    node.visited = true;
    return node.entry;
  }

  /** Puts an entry in, or in the place of the token's present one, which keeps its age. */
  set(text: string, entry: CachedToken): void {
    const present = this.#nodes.get(text);
    if (present !== undefined) {
      present.entry = entry;
      return;
    }
    while (this.#nodes.size > 0 && this.#nodes.size >= this.#maxEntries) this.#evict();
    const node: CacheNode = { text, entry, visited: false, older: this.#newest, newer: null };
    if (this.#newest !== null) this.#newest.newer = node;
    this.#newest = node;
    this.#oldest ??= node;
    this.#nodes.set(text, node);
  }

  /** Allows another number of entries; surplus ones go when the next one comes. */
  resize(maxEntries: number): void {
    this.#maxEntries = maxEntries;
  }

  /** Tells this watcher from now on, or nobody. */
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
    let node = this.#hand ?? this.#oldest;
    while (node?.visited) {
      node.visited = false;
      node = node.newer ?? this.#oldest;
    }
    if (node === null) return;
    this.#hand = node.newer;
    if (node.older === null) this.#oldest = node.newer;
    else node.older.newer = node.newer;
    if (node.newer === null) this.#newest = node.older;
    else node.newer.older = node.older;
    this.#nodes.delete(node.text);
    this.#evictions++;
    this.#listener?.({ kind: "jwt-cache-evicted" });
  }
}

/** Makes a cache, or `null` when none is wanted: zero or fewer entries. */
export function createJwtCache(maxEntries: number): JwtCache | null {
  return maxEntries > 0 ? new JwtCache(maxEntries) : null;
}
