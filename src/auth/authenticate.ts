/**
 * Who says it: from the `Authorization` header to the database role and the claims.
 *
 * @module
 */
import { errors } from "../errors/catalogue.ts";
import { checkClaims, claimsWithRole } from "./claims.ts";
import type { CachedToken, Identity, JwtCache } from "./jwt_cache.ts";
import { checkLength, type VerifiedToken, verifyToken } from "./jwt.ts";
import type { KeySet } from "./keys.ts";
import { roleOf, type RolePath } from "./role_claim.ts";

/** What the answer depends on beside the header. */
export interface AuthContext {
  /** `null` when there is no secret. */
  readonly keys: KeySet | null;
  /** Filled with `keys` only: a change of keys takes a new cache. `null` when there is none. */
  readonly cache: JwtCache | null;
  /** Seconds since 1970, UTC. */
  readonly now: number;
  readonly rolePath: RolePath;
  readonly dbAnonRole: string | null;
  readonly jwtAud: string | null;
}

/**
 * Says who asks. The value of the `Authorization` header is looked at only if its scheme is Bearer
 * (RFC 6750); without a token the request is anonymous.
 *
 * Answers at once for anonymous requests and for tokens in the cache, else with a promise. Raises, or
 * rejects with, `errors.noSecret`, `errors.invalidToken`, `errors.noAnonymousRole`.
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
    ? identifyVerified(token, context.keys, context)
    : identifyCached(token, cached, context);
}

/**
 * Gives the token of a header value, `null` when its scheme is another than Bearer. The scheme ends
 * with the first white space. Of several `Authorization` headers, which the Fetch standard joins by a
 * comma and a space, the first one counts.
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

async function identifyVerified(
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
 * Gives the role that the claims name, `null` for none. Refused are claims too deeply nested for the
 * path, text that PostgreSQL cannot take (a NUL, half a surrogate pair), and `none`, which to
 * PostgreSQL is no role but the way back to the role that the service connected as.
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
