/** Verifies a token with the keys of its issuer. @module */
import { errors } from "../../base/errors/catalogue.ts";
import {
  noSuitableKey,
  unverifiedIssuer,
  type UnverifiedToken,
  type VerifiedToken,
  verifySignature,
} from "./jwt.ts";
import type { IssuerRules } from "./issuer_rules.ts";
import { isSymmetric, type KeySet, selectKeys } from "./keys.ts";
import type { RemoteKeySet, WaitUntil } from "./remote_key_set.ts";

/** Keys and rules of tokens. */
export interface TokenIssuer {
  /** The `iss` claim that tokens must have; null for any. */
  readonly name: string | null;
  /** Keys of the configuration, or null. */
  readonly localKeys: KeySet | null;
  /** Keys by URL, or null. */
  readonly remoteKeys: RemoteKeySet | null;
  /** Rules of `jwt-issuers`, or null. */
  readonly rules: IssuerRules | null;
}

export interface Issuers {
  readonly listed: ReadonlyMap<string, TokenIssuer>;
  /** The issuer of `jwt-secret`, `jwt-jwks-url` and `jwt-issuer`; null if none of them is set. */
  readonly unlisted: TokenIssuer | null;
}

/** Chooses the issuer of a token by its unverified `iss`. Only the keys of this issuer are tried,
 * so that no issuer can sign for another. Throws `errors.issuerNotAccepted`. */
export function chooseIssuer({ listed, unlisted }: Issuers, token: UnverifiedToken): TokenIssuer {
  if (listed.size === 0 && unlisted !== null && unlisted.name === null) return unlisted;
  const name = unverifiedIssuer(token);
  const issuer = (name === null ? undefined : listed.get(name)) ?? unlisted;
  if (issuer === null || (issuer.name !== null && issuer.name !== name)) {
    throw errors.issuerNotAccepted();
  }
  return issuer;
}

/** A verified token, and the fetched set with its key; null for a key of the configuration. */
export interface VerificationResult {
  readonly token: VerifiedToken;
  readonly keySet: KeySet | null;
}

/**
 * Verifies a token's signature with the keys of its issuer; keys of the configuration are tried
 * first. Fetches the issuer's keys if they are not known, or if no key has the token's `kid`.
 *
 * Throws `errors.invalidToken` for a token that no key verifies, `errors.invalidClaims` if the
 * payload is not a JSON object, `errors.keysUnavailable` if the keys cannot be fetched.
 */
export async function verifyToken(
  token: UnverifiedToken,
  { localKeys, remoteKeys }: TokenIssuer,
  waitUntil?: WaitUntil,
): Promise<VerificationResult> {
  const local = localKeys === null ? [] : selectKeys(localKeys, token.header);
  const verified = await verifySignature(token, local);
  if (verified !== null) return { token: verified, keySet: null };
  // A symmetric algorithm needs no fetch, because fetched sets have no symmetric keys.
  if (remoteKeys === null || isSymmetric(token.header.alg)) {
    throw noSuitableKey(local.length, token.header);
  }
  const keySet = await remoteKeys.setWithKey(token.header.kid, waitUntil);
  const remote = selectKeys(keySet, token.header);
  const verifiedByRemote = await verifySignature(token, remote);
  if (verifiedByRemote === null) {
    throw noSuitableKey(local.length + remote.length, token.header);
  }
  return { token: verifiedByRemote, keySet };
}
