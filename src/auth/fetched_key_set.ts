/**
 * Reads the documents of issuers: JSON Web Key Sets (RFC 7517) and discovery documents (OpenID Connect
 * Discovery 1.0).
 *
 * @module
 */
import { isKeyUrl } from "../config/checks.ts";
import { isJsonObject, type JsonObject, parseJsonObject } from "../lib/json_object.ts";
import { KeyFetchError } from "./fetch_document.ts";
import { importKey, type KeySet, publicMembers, type VerificationKey } from "./keys.ts";

/** A key set from the network. */
export interface FetchedKeySet extends KeySet {
  /** The keys by the text of their public part. */
  readonly keysByText: ReadonlyMap<string, VerificationKey>;
  /** Places of the keys that cannot be imported, from 1. */
  readonly invalidKeys: readonly number[];
}

/** Providers publish fewer than ten keys. */
const maxKeys = 100;

/**
 * Imports the public keys of a set. Skips symmetric keys, since only a secret of the configuration may
 * be one, keys that cannot be imported and keys that verify no token. A key that `previous` has too is
 * the same object in both.
 *
 * Rejects with `KeyFetchError` if the text is not a key set, or if no key remains.
 */
export async function readKeySet(
  text: string,
  previous: FetchedKeySet | null,
): Promise<FetchedKeySet> {
  const list = parseJsonObject(text)?.keys;
  if (!Array.isArray(list)) throw new KeyFetchError("not a JSON Web Key Set");
  if (list.length > maxKeys) throw new KeyFetchError(`more than ${maxKeys} keys`);
  const keysByText = new Map<string, VerificationKey>();
  const invalidKeys: number[] = [];
  for (const [index, jwk] of list.entries()) {
    if (isJsonObject(jwk) && jwk.kty === "oct") continue;
    const keyText = isJsonObject(jwk) ? publicText(jwk) : "";
    const key = previous?.keysByText.get(keyText) ?? await importOrNull(jwk, index);
    if (key === null) invalidKeys.push(index + 1);
    else if (key.verifiers.size > 0) keysByText.set(keyText, key);
  }
  if (keysByText.size === 0) throw new KeyFetchError("no usable key");
  return { keys: Array.from(keysByText.values()), keysByText, invalidKeys };
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
export function discoveryUrl(issuer: string): string {
  return `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
}

/**
 * Returns the URL of the key set in a discovery document. Throws `KeyFetchError` if the document is of
 * another issuer (section 4.3), or if keys may not be fetched from the URL.
 */
export function keySetUrl(text: string, issuer: string): string {
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
