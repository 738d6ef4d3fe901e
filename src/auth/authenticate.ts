/**
 * Turns the `Authorization` header into a database role and claims.
 *
 * @module
 */
import { errors } from "../errors/catalogue.ts";
import { checkClaims, claimsWithRole } from "./claims.ts";
import type { CachedToken, Identity, JwtCache } from "./jwt_cache.ts";
import { checkLength, type VerifiedToken, verifyToken } from "./jwt.ts";
import type { KeySet } from "./keys.ts";
import { roleOf, type RolePath } from "./role_claim.ts";

/** Inputs of {@linkcode authenticate} besides the header. */
export interface AuthContext {
  /** Null if `jwt-secret` is not set. */
  readonly keys: KeySet | null;
  /** Holds tokens verified with `keys` only; new keys need a new cache. Null if caching is off. */
  readonly cache: JwtCache | null;
  /** Seconds since 1970, UTC. */
  readonly now: number;
  readonly rolePath: RolePath;
  readonly dbAnonRole: string | null;
  readonly jwtAud: string | null;
}

/**
 * Returns the identity of a request. Only the Bearer scheme (RFC 6750) is read; a request without a
 * token is anonymous.
 *
 * Anonymous requests and cached tokens return synchronously, others a promise. Throws, or rejects
 * with, `SVC300` without a secret, `SVC301` for an invalid token, `SVC302` without an anonymous role.
 */
export function authenticate(
  authorization: string | null,
  context: AuthContext,
): Identity | Promise<Identity> {
  const token = authorization === null ? null : bearerToken(authorization);
  if (token === null) return anonymousIdentity(context);
  if (context.keys === null) throw errors.noSecret();
  checkLength(token);
  const cached = context.cache?.get(token);
  return cached === undefined
    ? verifyAndIdentify(token, context.keys, context)
    : identifyCached(token, cached, context);
}

/**
 * Returns the token of a header value, or null if the scheme is not Bearer. The scheme ends at the
 * first white space. The first of several `Authorization` headers counts; the Fetch standard joins
 * them with a comma and a space.
 */
export function bearerToken(authorization: string): string | null {
  const next = authorization.indexOf(", ");
  const first = next === -1 ? authorization : authorization.slice(0, next);
  if (first.slice(0, 6).toLowerCase() !== "bearer") return null;
  const rest = first.slice(6);
  return rest === "" || rest[0] === " " || rest[0] === "\t" ? rest.trimStart() : null;
}

function anonymousIdentity({ dbAnonRole }: AuthContext): Identity {
  if (dbAnonRole === null) throw errors.noAnonymousRole();
  return {
    role: dbAnonRole,
    authenticated: false,
    claims: `{"role":${JSON.stringify(dbAnonRole)}}`,
  };
}

async function verifyAndIdentify(
  text: string,
  keys: KeySet,
  context: AuthContext,
): Promise<Identity> {
  const token = await verifyToken(text, keys);
  remember(text, { token, identity: null }, context);
  checkClaims(token.claims, context);
  return identifyAndRemember(text, token, context);
}

function identifyCached(text: string, cached: CachedToken, context: AuthContext): Identity {
  checkClaims(cached.token.claims, context);
  const { identity, rolePath, dbAnonRole } = cached;
  const current = rolePath === context.rolePath && dbAnonRole === context.dbAnonRole;
  return identity !== null && current ? identity : identifyAndRemember(text, cached.token, context);
}

function identifyAndRemember(text: string, token: VerifiedToken, context: AuthContext): Identity {
  const identity = identify(token, context);
  remember(text, { token, identity }, context);
  return identity;
}

function remember(
  text: string,
  entry: Pick<CachedToken, "token" | "identity">,
  { cache, rolePath, dbAnonRole }: AuthContext,
): void {
  cache?.set(text, { ...entry, rolePath, dbAnonRole });
}

function identify({ claims, json }: VerifiedToken, context: AuthContext): Identity {
  const claimed = claimedRole(claims, context.rolePath);
  const role = claimed ?? context.dbAnonRole;
  if (role === null) throw errors.noAnonymousRole();
  return {
    role,
    authenticated: role !== context.dbAnonRole,
    claims: claimsWithRole(json, role),
  };
}

/**
 * Returns the role that the claims name, or null if they name none. Throws `SVC301` for:
 *
 * - claims nested too deeply for the path,
 * - text that PostgreSQL cannot store (NUL, half a surrogate pair),
 * - `none`: `SET ROLE none` would restore the authenticator role.
 */
function claimedRole(claims: VerifiedToken["claims"], path: RolePath): string | null {
  const role = evaluateRole(claims, path);
  if (role === "none" || role?.includes("\0") || role?.isWellFormed() === false) {
    throw errors.invalidToken("The role in the JWT is not allowed");
  }
  return role;
}

function evaluateRole(claims: VerifiedToken["claims"], path: RolePath): string | null {
  try {
    return roleOf(claims, path);
  } catch {
    throw errors.invalidToken("The role in the JWT cannot be read");
  }
}
