/** Signs tokens with the secret of the configuration. @module */
import { importJWK, type JWK, SignJWT } from "jose";
import type { JsonObject } from "../../base/lib/json_object.ts";
import { algorithmsOf, AuthSettingError, readSecret } from "./keys.ts";

interface SigningKey {
  readonly alg: string;
  readonly kid: string | null;
  readonly key: CryptoKey | Uint8Array;
}

/** Returns a signed token with the claims. A plain secret signs by HS256. Of several JSON Web Keys, the
 * first symmetric or private key signs. Throws `AuthSettingError` if no key can sign. */
export async function signToken(
  claims: Readonly<Record<string, unknown>>,
  secret: Uint8Array,
): Promise<string> {
  const { alg, kid, key } = await signingKey(secret);
  const header = { alg, typ: "JWT", ...(kid === null ? {} : { kid }) };
  return await new SignJWT({ ...claims }).setProtectedHeader(header).sign(key);
}

async function signingKey(secret: Uint8Array): Promise<SigningKey> {
  const jwks = readSecret(secret);
  if (jwks === null) return { alg: "HS256", kid: null, key: secret };
  const jwk = jwks.find(canSign);
  if (jwk === undefined) {
    throw new AuthSettingError("The JWT secret has no private key, so it cannot sign tokens.");
  }
  const alg = algorithmOf(jwk)!;
  try {
    const key = await importJWK(jwk as JWK, alg);
    return { alg, kid: typeof jwk["kid"] === "string" ? jwk["kid"] : null, key };
  } catch {
    // The message omits the cause, which may quote the key.
    throw new AuthSettingError("The JSON Web Key of the JWT secret cannot sign tokens.");
  }
}

function canSign(jwk: JsonObject): boolean {
  const secretPart = jwk["kty"] === "oct" ? jwk["k"] : jwk["d"];
  return typeof secretPart === "string" && jwk["use"] !== "enc" && algorithmOf(jwk) !== null;
}

function algorithmOf(jwk: JsonObject): string | null {
  return typeof jwk["alg"] === "string" ? jwk["alg"] : algorithmsOf(jwk)[0] ?? null;
}

/** Options that the claims of a token depend on. */
export interface TokenClaimConfig {
  readonly jwtAud: string | null;
  readonly jwtIssuer: string | null;
  readonly jwtRoleClaimKey: string;
}

/**
 * Returns the claims of a token: the role at the path of `jwt-role-claim-key`, `iss` if
 * `jwt-issuer` is set, `aud` if `jwt-aud` is set, `iat` and `exp`. `now` is in epoch milliseconds.
 */
export function tokenClaims(
  role: string,
  { jwtAud, jwtIssuer, jwtRoleClaimKey }: TokenClaimConfig,
  { now, seconds }: { readonly now: number; readonly seconds: number },
): Readonly<Record<string, unknown>> {
  const iat = Math.floor(now / 1000);
  return {
    ...roleClaim(role, jwtRoleClaimKey),
    ...(jwtIssuer === null ? {} : { iss: jwtIssuer }),
    ...(jwtAud === null ? {} : { aud: jwtAud }),
    iat,
    exp: iat + seconds,
  };
}

/** Nests a role: `$.app.role` gives `{ app: { role } }`. */
function roleClaim(role: string, path: string): Readonly<Record<string, unknown>> {
  const names = /^\$?(?:\.[A-Za-z_][A-Za-z0-9_]*)+$/.test(path) ? path.split(".").slice(1) : null;
  if (names === null) {
    throw new Error(`jwt-role-claim-key is ${path}: only a plain path such as $.role can be set`);
  }
  const nested = names.reduceRight<unknown>((value, name) => ({ [name]: value }), role);
  return nested as Readonly<Record<string, unknown>>;
}
