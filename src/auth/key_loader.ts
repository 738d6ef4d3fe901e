/** Loads the key set of one issuer, with its discovery document if the issuer has one. @module */
import {
  type CachedDocument,
  type DocumentDependencies,
  dueAt,
  expiresAt,
  fetchCached,
  storedDocument,
} from "./document_cache.ts";
import { isKeyUrl } from "../config/checks.ts";
import { isJsonObject, type JsonObject, parseJsonObject } from "../lib/json_object.ts";
import { KeyFetchError } from "./fetch_document.ts";
import { importKey, type KeySet, publicMembers, type VerificationKey } from "./keys.ts";

/** Where the keys of an issuer are: at a URL, or where its discovery document says. */
export type KeyLocation =
  | { readonly kind: "url"; readonly url: string }
  | { readonly kind: "discovery"; readonly issuer: string };

/** A key set with the documents that it comes from. */
export interface LoadedKeys {
  /** Null without discovery. */
  readonly discovery: CachedDocument | null;
  readonly document: CachedDocument;
  readonly keySet: FetchedKeySet;
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

/** A key set from the network. */
interface FetchedKeySet extends KeySet {
  /** The keys by the text of their public part. */
  readonly keysByText: ReadonlyMap<string, VerificationKey>;
  /** Places of the keys that cannot be imported, from 1. */
  readonly invalidKeys: readonly number[];
}

/** Providers publish fewer than ten keys. */
const maxKeys = 100;

/**
 * Imports the public keys of a set. Skips symmetric keys, since only a secret of the configuration may
 * be one, keys that cannot be imported and keys that verify no token by type, `use` or `key_ops`. A key that `previous` has too is
 * the same object in both.
 *
 * Rejects with `KeyFetchError` if the text is not a key set, or if no key remains.
 */
async function readKeySet(
  text: string,
  previous: FetchedKeySet | null,
): Promise<FetchedKeySet> {
  const list = parseJsonObject(text)?.keys;
  if (!Array.isArray(list)) throw new KeyFetchError("not a JSON Web Key Set");
  if (list.length > maxKeys) throw new KeyFetchError(`more than ${maxKeys} keys`);
  const keysByText = new Map<string, VerificationKey>();
  const invalidKeys: number[] = [];
  for (const [index, jwk] of list.entries()) {
    if (isJsonObject(jwk) && (jwk.kty === "oct" || !mayVerify(jwk))) continue;
    const keyText = isJsonObject(jwk) ? publicText(jwk) : "";
    const key = previous?.keysByText.get(keyText) ?? await importOrNull(jwk, index);
    if (key === null) invalidKeys.push(index + 1);
    else if (key.verifiers.size > 0) keysByText.set(keyText, key);
  }
  if (keysByText.size === 0) throw new KeyFetchError("no usable key");
  return { keys: Array.from(keysByText.values()), keysByText, invalidKeys };
}

/** Returns whether the operations of a key include verification (RFC 7517, section 4.3). */
function mayVerify({ key_ops: operations }: JsonObject): boolean {
  return operations === undefined || (Array.isArray(operations) && operations.includes("verify"));
}

async function importOrNull(jwk: unknown, index: number): Promise<VerificationKey | null> {
  try {
    return isJsonObject(jwk) ? await importKey(jwk, index) : null;
  } catch {
    return null;
  }
}

/** Returns the members that a verification depends on, in a fixed order. */
function publicText(jwk: JsonObject): string {
  const names = ["kid", "alg", "use", ...publicMembers.get(jwk.kty) ?? []];
  return JSON.stringify(names.map((name) => jwk[name] ?? null));
}

/** Returns the URL of an issuer's discovery document (OpenID Connect Discovery 1.0, section 4). */
function discoveryUrl(issuer: string): string {
  return `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
}

/**
 * Returns the URL of the key set in a discovery document. Throws `KeyFetchError` if the document is of
 * another issuer (section 4.3), or if keys may not be fetched from the URL.
 */
function keySetUrl(text: string, issuer: string): string {
  const document = parseJsonObject(text);
  if (document === null) throw new KeyFetchError("the discovery document is not a JSON object");
  if (document.issuer !== issuer) {
    throw new KeyFetchError("the discovery document is of another issuer");
  }
  const { jwks_uri: url } = document;
  if (typeof url !== "string" || !isKeyUrl(url)) {
    throw new KeyFetchError("the jwks_uri of the discovery document is not an https URL");
  }
  return url;
}
