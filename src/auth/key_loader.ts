/**
 * Loads the key set of one issuer, with its discovery document if the issuer has one.
 *
 * @module
 */
import {
  type CachedDocument,
  type DocumentDependencies,
  dueAt,
  expiresAt,
  fetchCached,
  storedDocument,
} from "./document_cache.ts";
import { discoveryUrl, type FetchedKeySet, keySetUrl, readKeySet } from "./fetched_key_set.ts";

/** Where the keys of an issuer are: at a URL, or where its discovery document says. */
export type KeyLocation =
  | { readonly kind: "url"; readonly url: string }
  | { readonly kind: "discovery"; readonly issuer: string };

/** The documents that a key set comes from. */
export interface KeyDocuments {
  /** Null without discovery. */
  readonly discovery: CachedDocument | null;
  readonly document: CachedDocument;
}

/** A key set with the documents that it comes from. */
export interface LoadedKeys extends KeyDocuments {
  readonly keySet: FetchedKeySet;
}

/** Imports the keys of documents that were fetched before. Rejects with `KeyFetchError`. */
export async function importKeys(
  { discovery, document }: KeyDocuments,
  previous: LoadedKeys | null,
): Promise<LoadedKeys> {
  return { discovery, document, keySet: await keySetOf(document, previous) };
}

/** Returns when keys are due for a refresh, in epoch milliseconds. */
export function keysDueAt({ document }: LoadedKeys): number {
  return dueAt(document);
}

/** Returns when keys are no longer fresh, in epoch milliseconds. */
export function keysExpireAt({ document }: LoadedKeys): number {
  return expiresAt(document);
}

/** Fetches the keys, and a discovery document that is due. Rejects with `KeyFetchError`. */
export async function fetchKeys(
  location: KeyLocation,
  previous: LoadedKeys | null,
  dependencies: DocumentDependencies,
): Promise<LoadedKeys> {
  const discovery = await discover(location, previous?.discovery ?? null, dependencies);
  const document = await fetchCached(
    urlOf(location, discovery),
    previous?.document ?? null,
    dependencies,
  );
  return { discovery, document, keySet: await keySetOf(document, previous) };
}

/** Reads the keys that an instance before this one has stored; null without. Never rejects. */
export async function storedKeys(
  location: KeyLocation,
  previous: LoadedKeys | null,
  dependencies: DocumentDependencies,
): Promise<LoadedKeys | null> {
  try {
    const discovery = location.kind === "url"
      ? null
      : await storedDocument(discoveryUrl(location.issuer), dependencies);
    if (discovery === null && location.kind === "discovery") return null;
    const document = await storedDocument(urlOf(location, discovery), dependencies);
    if (document === null) return null;
    return { discovery, document, keySet: await keySetOf(document, previous) };
  } catch {
    return null;
  }
}

async function discover(
  location: KeyLocation,
  known: CachedDocument | null,
  dependencies: DocumentDependencies,
): Promise<CachedDocument | null> {
  if (location.kind === "url") return null;
  if (known !== null && dependencies.now() < dueAt(known)) return known;
  return await fetchCached(discoveryUrl(location.issuer), known, dependencies);
}

function urlOf(location: KeyLocation, discovery: CachedDocument | null): string {
  return location.kind === "url" ? location.url : keySetUrl(discovery?.text ?? "", location.issuer);
}

/** The same text gives the same set, so that cached tokens need no look at its keys. */
function keySetOf(
  { text }: CachedDocument,
  previous: LoadedKeys | null,
): FetchedKeySet | Promise<FetchedKeySet> {
  if (previous?.document.text === text) return previous.keySet;
  return readKeySet(text, previous?.keySet ?? null);
}
