/** Derives the database role and the claims from the token of a request. @module */
import { errors } from "../../base/errors/catalogue.ts";
import { parseJsonObject } from "../../base/lib/json_object.ts";
import { type ApiKeys, isOpaque } from "./api_keys.ts";
import { checkClaims, checkTenant, claimsWithRole, type TenantRule } from "./claims.ts";
import { checkAlgorithm, checkRules, issuedRole, type RoleRule } from "./issuer_rules.ts";
import type { CachedToken, Identity, JwtCache } from "./jwt_cache.ts";
import { checkLength, parseToken, type VerifiedToken } from "./jwt.ts";
import type { KeySet } from "./keys.ts";
import type { WaitUntil } from "./remote_key_set.ts";
import { isRevoked, type RevocationIndex } from "./revocations.ts";
import type { RolePath } from "./role_claim.ts";
import { chooseIssuer, type Issuers, verifyToken } from "./verify_token.ts";

/** Inputs of {@linkcode authenticate} besides the token. */
export interface AuthContext {
  /** Null if no option names keys. */
  readonly issuers: Issuers | null;
  /** Cache of tokens from these issuers only, so other issuers need a new cache. Null if caching is off. */
  readonly cache: JwtCache | null;
  /** Null without `api-keys`. */
  readonly apiKeys: ApiKeys | null;
  /** Seconds since 1970, UTC. */
  readonly now: number;
  /** Tolerated difference between clocks, in seconds. */
  readonly skewSeconds: number;
  readonly rolePath: RolePath;
  readonly dbAnonRole: string | null;
  readonly jwtAud: string | null;
  /** Null without a list of revoked tokens. */
  readonly revocations: RevocationIndex | null;
  readonly waitUntil?: WaitUntil;
  /** The tenant that tokens must name. Default: null, for any. */
  readonly tenant?: TenantRule | null;
}

/**
 * Returns the identity of a request. `token` is null for an anonymous request.
 *
 * Anonymous requests and cached tokens return synchronously, unless keys have to be fetched. Throws, or
 * rejects with:
 *
 * - `SVC300` without keys, `SVC302` without an anonymous role,
 * - `SVC301` for an unknown API key, an invalid or revoked token, `SVC315` for a role that its issuer may not give,
 * - `SVC310` if the keys of the token's issuer cannot be fetched,
 * - `SVC319` for a token of another tenant.
 */
export function authenticate(
  token: string | null,
  context: AuthContext,
): Identity | Promise<Identity> {
  if (token === null) {
    const anonymous = anonymousIdentity(context);
    if (anonymous === null) throw errors.noAnonymousRole();
    return anonymous;
  }
  const { apiKeys } = context;
  if (apiKeys !== null && isOpaque(token)) {
    checkLength(token);
    return apiKeys.identify(token, context.tenant);
  }
  if (context.issuers === null) throw errors.noSecret();
  checkLength(token);
  const cached = context.cache?.get(token);
  return cached === undefined
    ? verifyAndIdentify(token, context.issuers, context)
    : identifyByCurrentKeys(token, cached, context);
}

/** Returns the identity of requests without a token; null if they need one. */
export function anonymousIdentity(
  { dbAnonRole }: Pick<AuthContext, "dbAnonRole">,
): Identity | null {
  return dbAnonRole === null ? null : {
    role: dbAnonRole,
    authenticated: false,
    claims: `{"role":${JSON.stringify(dbAnonRole)}}`,
  };
}

/**
 * Returns the identity of a caller. `claims` is the text of a JSON object. Throws an `Error` if the role or
 * the claims are invalid.
 */
export function callerIdentity(
  { role, claims }: Pick<Identity, "role" | "claims">,
  { dbAnonRole }: { readonly dbAnonRole: string | null },
): Identity {
  if (["", "none"].includes(role) || role.includes("\0") || !role.isWellFormed()) {
    throw new Error(`cannot become the role ${JSON.stringify(role)}`);
  }
  if (parseJsonObject(claims) === null) throw new Error("expected claims as a JSON object");
  return { role, authenticated: role !== dbAnonRole, claims: claimsWithRole(claims, role) };
}

async function verifyAndIdentify(
  text: string,
  issuers: Issuers,
  context: AuthContext,
): Promise<Identity> {
  const unverified = parseToken(text);
  const issuer = chooseIssuer(issuers, unverified);
  checkAlgorithm(unverified.header, issuer.rules);
  const verified = { issuer, ...await verifyToken(unverified, issuer, context.waitUntil) };
  remember(text, verified, null, context);
  checkClaimsOf(verified, context);
  return identifyAndRemember(text, verified, context);
}

/** A verified token, its issuer and the set that holds its key. */
type VerifiedEntry = Pick<CachedToken, "token" | "issuer" | "keySet">;

/** Returns the identity of a cached token if the fetched keys of its issuer are unchanged.
 * Otherwise the token is verified again. */
function identifyByCurrentKeys(
  text: string,
  cached: CachedToken,
  context: AuthContext,
): Identity | Promise<Identity> {
  const { issuer: { remoteKeys }, keySet } = cached;
  if (keySet === null || remoteKeys === null) return identifyCached(text, cached, context);
  const identifyBy = (current: KeySet) =>
    current === keySet
      ? identifyCached(text, cached, context)
      : verifyAndIdentify(text, context.issuers!, context);
  const current = remoteKeys.current(context.waitUntil);
  return current instanceof Promise ? current.then(identifyBy) : identifyBy(current);
}

function identifyCached(text: string, cached: CachedToken, context: AuthContext): Identity {
  checkClaimsOf(cached, context);
  const { identity, rolePath, dbAnonRole } = cached;
  const current = rolePath === context.rolePath && dbAnonRole === context.dbAnonRole;
  return identity !== null && current ? identity : identifyAndRemember(text, cached, context);
}

/** Checks the claims that depend on the current time. An issuer's `audience` replaces `jwt-aud`. */
function checkClaimsOf(
  { token, issuer: { rules } }: VerifiedEntry,
  context: AuthContext,
): void {
  const hasAudiences = rules !== null && rules.audiences !== null;
  checkClaims(token.claims, hasAudiences ? { ...context, jwtAud: null } : context);
  const { revocations, now } = context;
  if (revocations !== null && isRevoked(token, revocations, now)) throw errors.revokedToken();
}

function identifyAndRemember(
  text: string,
  verified: VerifiedEntry,
  context: AuthContext,
): Identity {
  const identity = identify(verified, context);
  remember(text, verified, identity, context);
  return identity;
}

function remember(
  text: string,
  { token, issuer, keySet }: VerifiedEntry,
  identity: Identity | null,
  { cache, rolePath, dbAnonRole }: AuthContext,
): void {
  cache?.set(text, { token, issuer, keySet, identity, rolePath, dbAnonRole });
}

function identify({ token, issuer: { rules } }: VerifiedEntry, context: AuthContext): Identity {
  if (rules !== null) checkRules(token, rules);
  if (context.tenant) checkTenant(token.claims, context.tenant);
  const claimed = claimedRole(token.claims, rules?.role ?? usualRole, context.rolePath);
  if (claimed !== null && rules !== null && rules.allowedRoles?.has(claimed) === false) {
    throw errors.roleNotAllowed();
  }
  const role = claimed ?? context.dbAnonRole;
  if (role === null) throw errors.noAnonymousRole();
  return {
    role,
    authenticated: role !== context.dbAnonRole,
    claims: claimsWithRole(token.json, role),
  };
}

const usualRole: RoleRule = { kind: "claim", path: null };

/**
 * Returns the role that the claims name, or null if they name none. Throws `SVC301` for:
 *
 * - claims nested too deeply for the path,
 * - text that PostgreSQL cannot store (NUL, half a surrogate pair),
 * - `none`: `SET ROLE none` would restore the authenticator role.
 */
function claimedRole(
  claims: VerifiedToken["claims"],
  rule: RoleRule,
  path: RolePath,
): string | null {
  let role: string | null;
  try {
    role = issuedRole(claims, rule, path);
  } catch {
    throw errors.invalidToken("The role in the JWT cannot be read");
  }
  if (role === "none" || role?.includes("\0") || role?.isWellFormed() === false) {
    throw errors.invalidToken("The role in the JWT is not allowed");
  }
  return role;
}
