/** Loads the key set of one issuer, with its discovery document if the issuer has one. @module */
import { isKeyUrl } from "../config/checks.ts";
import { isJsonObject, type JsonObject, parseJsonObject } from "../lib/json_object.ts";
import type { Schedule } from "../lib/timers.ts";
import { type Fetch, fetchDocument, KeyFetchError } from "./fetch_document.ts";
import { importKey, type KeySet, publicMembers, type VerificationKey } from "./keys.ts";

/** Where the keys of an issuer are: at a URL, or where its discovery document says. */
export type KeyLocation =
  | { readonly kind: "url"; readonly url: string }
  | { readonly kind: "discovery"; readonly issuer: string };

/** Dependencies of {@linkcode fetchKeys}. */
export interface FetchDependencies {
  readonly fetch: Fetch;
  /** Epoch milliseconds. */
  readonly now: () => number;
  readonly schedule: Schedule;
}

/** A document with its age. Times are in epoch milliseconds. */
interface AgingDocument {
  readonly text: string;
  readonly fetchedAt: number;
  /** It is fetched again from this time on, while it is still in use. */
  readonly dueAt: number;
  /** It is no longer fresh. */
  readonly expiresAt: number;
}

/** A key set with the documents that it comes from. */
export interface LoadedKeys {
  /** Null without discovery. */
  readonly discovery: AgingDocument | null;
  readonly document: AgingDocument;
  readonly keySet: FetchedKeySet;
}

/** Fetches the keys, and a discovery document that is due. Rejects with `KeyFetchError`. */
export async function fetchKeys(
  location: KeyLocation,
  previous: LoadedKeys | null,
  dependencies: FetchDependencies,
): Promise<LoadedKeys> {
  const discovery = location.kind === "url"
    ? null
    : await discover(location.issuer, previous?.discovery ?? null, dependencies);
  const url = location.kind === "url"
    ? location.url
    : keySetUrl(discovery?.text ?? "", location.issuer);
  const document = await fetchAging(url, dependencies);
  // The same text gives the same set, so that cached tokens need no look at its keys.
  const keySet = previous?.document.text === document.text
    ? previous.keySet
    : await readKeySet(document.text, previous?.keySet ?? null);
  return { discovery, document, keySet };
}

async function discover(
  issuer: string,
  known: AgingDocument | null,
  dependencies: FetchDependencies,
): Promise<AgingDocument> {
  if (known !== null && dependencies.now() < known.dueAt) return known;
  // OpenID Connect Discovery 1.0, section 4.
  const url = `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
  return await fetchAging(url, dependencies);
}

/** Part of the age after which a document is due. */
const refreshAt = 0.8;

async function fetchAging(
  url: string,
  { now, ...dependencies }: FetchDependencies,
): Promise<AgingDocument> {
  const { text, maxAgeSeconds } = await fetchDocument(url, dependencies);
  const fetchedAt = now();
  const maxAgeMs = maxAgeSeconds * 1000;
  const dueAt = fetchedAt + refreshAt * maxAgeMs;
  return { text, fetchedAt, dueAt, expiresAt: fetchedAt + maxAgeMs };
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
