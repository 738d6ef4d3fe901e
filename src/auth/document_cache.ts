/** Keeps the documents of issuers for as long as they are fresh. @module */
import type { Schedule } from "../lib/timers.ts";
import { parseJsonObject } from "../lib/json_object.ts";
import { type Fetch, fetchDocument } from "./fetch_document.ts";

/** A store that outlives the instance, such as Workers KV or the Cache API. */
export interface KeyStore {
  /** Resolves with the text that was put under the URL, or with null. */
  get(url: string): Promise<string | null | undefined>;
  /** Keeps a text for a number of seconds. */
  put(url: string, text: string, seconds: number): Promise<unknown>;
}

/** A document with its age. */
export interface CachedDocument {
  readonly url: string;
  readonly text: string;
  readonly etag: string | null;
  /** Epoch milliseconds. */
  readonly fetchedAt: number;
  readonly maxAgeMs: number;
}

/** Dependencies of {@linkcode fetchCached}. */
export interface DocumentDependencies {
  readonly fetch: Fetch;
  /** Null without a store. */
  readonly store: KeyStore | null;
  /** Epoch milliseconds. */
  readonly now: () => number;
  readonly schedule: Schedule;
}

/** Part of the age after which a document is fetched again while it is still in use. */
const refreshAt = 0.8;

/** Returns when a document is due for a refresh, in epoch milliseconds. */
export function dueAt({ fetchedAt, maxAgeMs }: CachedDocument): number {
  return fetchedAt + refreshAt * maxAgeMs;
}

/** Returns when a document is no longer fresh, in epoch milliseconds. */
export function expiresAt({ fetchedAt, maxAgeMs }: CachedDocument): number {
  return fetchedAt + maxAgeMs;
}

/** Fetches a document, or renews the known version of it. Rejects with `KeyFetchError`. */
export async function fetchCached(
  url: string,
  known: CachedDocument | null,
  { fetch, now, schedule }: DocumentDependencies,
): Promise<CachedDocument> {
  const previous = known?.url === url ? known : null;
  const fetched = await fetchDocument(url, { etag: previous?.etag ?? null, fetch, schedule });
  return {
    url,
    text: fetched.text ?? previous?.text ?? "",
    etag: fetched.etag,
    fetchedAt: now(),
    maxAgeMs: fetched.maxAgeSeconds * 1000,
  };
}

/** Puts a document into the store for `staleMs` longer than it is fresh. Never rejects. */
export async function storeDocument(
  { url, ...content }: CachedDocument,
  staleMs: number,
  { store }: Pick<DocumentDependencies, "store">,
): Promise<void> {
  try {
    const seconds = Math.ceil((content.maxAgeMs + staleMs) / 1000);
    await store?.put(url, JSON.stringify(content), seconds);
  } catch {
    // The next instance fetches the document itself.
  }
}

/** Returns the document of a URL in the store; null without a usable one. Never rejects. */
export async function storedDocument(
  url: string,
  { store, now }: Pick<DocumentDependencies, "store" | "now">,
): Promise<CachedDocument | null> {
  if (store === null) return null;
  try {
    const { text, etag, fetchedAt, maxAgeMs } = parseJsonObject(await store.get(url) ?? "") ?? {};
    if (typeof text !== "string" || typeof fetchedAt !== "number" || !(fetchedAt <= now())) {
      return null;
    }
    if (typeof maxAgeMs !== "number" || !(maxAgeMs >= 0)) return null;
    return { url, text, etag: typeof etag === "string" ? etag : null, fetchedAt, maxAgeMs };
  } catch {
    return null;
  }
}
