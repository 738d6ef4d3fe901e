/** Loads the key set of one issuer. Reads its discovery document first, if it has one. @module */
import { isKeyUrl } from "../config/checks.ts";
import { isJsonObject, type JsonObject, parseJsonObject } from "../../base/lib/json_object.ts";
import type { Schedule } from "../../base/lib/timers.ts";
import { type Fetch, fetchDocument, KeyFetchError } from "./fetch_document.ts";
import { importKey, type KeySet, type VerificationKey } from "./keys.ts";

/** Location of an issuer's keys: the URL of the keys, or of its discovery document. */
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

/** A key set with its age. Times are in epoch milliseconds. */
export interface LoadedKeys {
  readonly keySet: KeySet;
  /** The document that contains the set. */
  readonly text: string;
  /** Positions, counted from 1, of the keys that cannot be imported. */
  readonly invalidKeys: readonly number[];
  readonly fetchedAt: number;
  /** Time from which the set is fetched again, if requests use it. */
  readonly dueAt: number;
  /** Time from which the set is no longer fresh. */
  readonly expiresAt: number;
}

/** Share of the maximum age after which a set is due. */
const refreshAt = 0.8;

/** Fetches the keys, and before them the discovery document. Rejects with `KeyFetchError`. */
export async function fetchKeys(
  location: KeyLocation,
  previous: LoadedKeys | null,
  { now, ...dependencies }: FetchDependencies,
): Promise<LoadedKeys> {
  const url = location.kind === "url"
    ? location.url
    : await discover(location.issuer, dependencies);
  const { text, maxAgeSeconds } = await fetchDocument(url, dependencies);
  const fetchedAt = now();
  const maxAgeMs = maxAgeSeconds * 1000;
  return {
    // The same text gives the same set, so that cached tokens are not verified again.
    ...(previous?.text === text ? previous : await readKeySet(text)),
    text,
    fetchedAt,
    dueAt: fetchedAt + refreshAt * maxAgeMs,
    expiresAt: fetchedAt + maxAgeMs,
  };
}

/**
 * Returns the URL of the key set in an issuer's discovery document. Rejects with `KeyFetchError` if
 * the document names another issuer (OpenID Connect Discovery 1.0, section 4.3), or if keys must
 * not be fetched from the URL.
 */
async function discover(
  issuer: string,
  dependencies: Omit<FetchDependencies, "now">,
): Promise<string> {
  // The path of the document is defined in OpenID Connect Discovery 1.0, section 4.
  const location = `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
  const document = parseJsonObject((await fetchDocument(location, dependencies)).text);
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

/** Maximum number of keys. Providers publish fewer than ten. */
const maxKeys = 100;

/**
 * Imports the public keys of a set. Skips symmetric keys, which only the configuration may contain.
 * Also skips keys that cannot be imported, and keys that do not verify tokens by their type, `use`
 * or `key_ops`.
 *
 * Rejects with `KeyFetchError` if the text is not a key set, or if no key remains.
 */
async function readKeySet(text: string): Promise<Pick<LoadedKeys, "keySet" | "invalidKeys">> {
  const list = parseJsonObject(text)?.keys;
  if (!Array.isArray(list)) throw new KeyFetchError("not a JSON Web Key Set");
  if (list.length > maxKeys) throw new KeyFetchError(`more than ${maxKeys} keys`);
  const keys: VerificationKey[] = [];
  const invalidKeys: number[] = [];
  for (const [index, jwk] of list.entries()) {
    if (isJsonObject(jwk) && (jwk.kty === "oct" || !mayVerify(jwk))) continue;
    const key = await importOrNull(jwk, index);
    if (key === null) invalidKeys.push(index + 1);
    else if (key.verifiers.size > 0) keys.push(key);
  }
  if (keys.length === 0) throw new KeyFetchError("no usable key");
  return { keySet: { keys }, invalidKeys };
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
