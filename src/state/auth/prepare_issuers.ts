/** Prepares the issuers that the configuration names. @module */
import { isKeyUrl } from "../config/checks.ts";
import type { JwtIssuer } from "../config/jwt_issuers.ts";
import type { Config } from "../config/options.ts";
import { prepareRules } from "./issuer_rules.ts";
import { AuthSettingError, type KeySet, loadKeys } from "./keys.ts";
import type { KeyLocation } from "./key_loader.ts";
import type { RemoteKeySet, RemoteKeySets } from "./remote_key_set.ts";
import type { Issuers, TokenIssuer } from "./verify_token.ts";

export type IssuerOptions = Pick<
  Config,
  "jwtSecret" | "jwtJwksUrl" | "jwtIssuer" | "jwtIssuers"
>;

/**
 * Returns the accepted issuers, or null if no option names keys. Does not fetch keys. Rejects with
 * `AuthSettingError` for invalid keys, for invalid rules, and for an issuer that has no keys.
 */
export async function prepareIssuers(
  options: IssuerOptions,
  remoteKeySets: RemoteKeySets,
): Promise<Issuers | null> {
  const list = await Promise.all(
    (options.jwtIssuers ?? []).map((issuer) => listedIssuer(issuer, remoteKeySets)),
  );
  const listed = new Map(list.map((issuer) => [issuer.name ?? "", issuer]));
  const unlisted = await unlistedIssuer(options, remoteKeySets);
  return listed.size === 0 && unlisted === null ? null : { listed, unlisted };
}

export function remoteKeySetsOf(issuers: Issuers | null): ReadonlySet<RemoteKeySet> {
  const all = issuers === null ? [] : [...issuers.listed.values(), issuers.unlisted];
  return new Set(all.map((issuer) => issuer?.remoteKeys ?? null).filter((set) => set !== null));
}

async function unlistedIssuer(
  { jwtSecret, jwtJwksUrl: url, jwtIssuer: issuer }: IssuerOptions,
  remoteKeySets: RemoteKeySets,
): Promise<TokenIssuer | null> {
  const localKeys = await loadKeys(jwtSecret);
  const remote = (location: KeyLocation) => remoteKeySets.get({ location, issuer });
  if (url !== null) {
    return { ...anyToken, name: issuer, localKeys, remoteKeys: remote({ kind: "url", url }) };
  }
  if (localKeys !== null) return { ...anyToken, name: issuer, localKeys };
  if (issuer === null) return null;
  if (!isKeyUrl(issuer)) {
    throw new AuthSettingError(
      "without jwt-secret and jwt-jwks-url, the issuer must be an https URL for OIDC Discovery",
      "jwt-issuer",
    );
  }
  return { ...anyToken, name: issuer, remoteKeys: remote({ kind: "discovery", issuer }) };
}

const anyToken: TokenIssuer = { name: null, localKeys: null, remoteKeys: null, rules: null };

async function listedIssuer(
  issuer: JwtIssuer,
  remoteKeySets: RemoteKeySets,
): Promise<TokenIssuer> {
  const { issuer: name, jwks_url: url } = issuer;
  const [localKeys, rules] = await Promise.all([localKeysOf(issuer), prepareRules(issuer)]);
  const location = url === undefined
    ? { kind: "discovery", issuer: name } as const
    : { kind: "url", url } as const;
  const remoteKeys = localKeys === null ? remoteKeySets.get({ location, issuer: name }) : null;
  return { name, localKeys, remoteKeys, rules };
}

/** Returns the keys in an issuer's configuration; null if its keys are fetched. */
async function localKeysOf({ issuer, secret, keys }: JwtIssuer): Promise<KeySet | null> {
  if (secret === undefined && keys === undefined) return null;
  const text = secret ?? JSON.stringify(keys);
  try {
    return await loadKeys(new TextEncoder().encode(text));
  } catch (error) {
    if (!(error instanceof AuthSettingError)) throw error;
    const problem = error.message.replaceAll(
      "the JWT secret",
      secret === undefined ? "keys" : "secret",
    );
    throw new AuthSettingError(`${issuer}: ${problem}`, "jwt-issuers");
  }
}
