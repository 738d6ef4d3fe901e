/** The keys that verify tokens. @module */
import { importJWK, type JWK } from "jose";
import { isJsonObject, type JsonObject, parseJsonObject } from "../../base/lib/json_object.ts";

/** Reports an unusable value of an authentication option. The message is for the operator and
 * contains no part of a secret. */
export class AuthSettingError extends Error {
  /** The option at fault. */
  readonly key: "jwt-secret" | "jwt-role-claim-key" | "jwt-issuer" | "jwt-issuers";

  constructor(message: string, key: AuthSettingError["key"] = "jwt-secret") {
    super(message);
    this.name = "AuthSettingError";
    this.key = key;
  }
}

/** A key, imported for each algorithm that it supports. */
export interface VerificationKey {
  readonly kid: string | null;
  /** The imported keys by `alg` of a token's header. Empty if the key does not verify tokens. */
  readonly verifiers: ReadonlyMap<string, CryptoKey>;
}

export interface KeySet {
  readonly keys: readonly VerificationKey[];
}

/** The supported signature algorithms. */
export const algorithms: ReadonlySet<string> = new Set([
  ...["HS256", "HS384", "HS512"],
  ...["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"],
  ...["ES256", "ES384", "ES512"],
  ...["EdDSA", "Ed25519"],
]);

/** Returns whether an algorithm uses the same secret to sign and to verify. */
export function isSymmetric(alg: string): boolean {
  return alg.startsWith("HS");
}

const minSecretBytes = 32;
const minModulusBits = 2048;

/**
 * Imports the keys of a secret: a JSON Web Key Set, one JSON Web Key (RFC 7517), or an HMAC key of at
 * least 32 bytes, which verifies HS256 only. Returns null without a secret.
 *
 * Keys for encryption (`use: "enc"`) and keys of an unsupported `kty`, `crv` or `alg` verify no token.
 * Only the public part of a key is imported.
 *
 * Throws `AuthSettingError` for:
 *
 * - a secret that is too short,
 * - an invalid JSON Web Key, or an RSA key below 2048 bits (RFC 7518, section 3.3),
 * - a key in PEM: as an HMAC secret, it would let each holder of the public key sign tokens.
 */
export async function loadKeys(secret: Uint8Array | null): Promise<KeySet | null> {
  if (secret === null || secret.byteLength === 0) return null;
  const jwks = readSecret(secret);
  if (jwks !== null) return { keys: await Promise.all(jwks.map(importKey)) };
  return { keys: [{ kid: null, verifiers: new Map([["HS256", await importHmac(secret, 256)]]) }] };
}

/**
 * Returns the JSON Web Keys of a secret, or null for a plain secret. Throws `AuthSettingError` for a
 * secret that is too short, for `keys` that are not an array of objects, and for PEM.
 */
export function readSecret(secret: Uint8Array): readonly JsonObject[] | null {
  const text = decodeText(secret);
  const jwks = text === null ? null : parseJwks(text);
  if (jwks !== null) return jwks;
  if (text?.trimStart().startsWith("-----BEGIN ")) {
    throw new AuthSettingError("The JWT secret is in PEM; give the public key as a JSON Web Key.");
  }
  if (secret.byteLength < minSecretBytes) {
    throw new AuthSettingError("The JWT secret must be at least 32 characters long.");
  }
  return null;
}

/**
 * Returns the keys for a token's header, in the order of the set: those that support its `alg` and
 * have its `kid`. Without a `kid`, any key matches. The type of a key determines its algorithms, so a
 * public key never serves as an HMAC secret.
 */
export function selectKeys(
  keySet: KeySet,
  header: { readonly alg: string; readonly kid: string | null },
): readonly CryptoKey[] {
  return keySet.keys
    .filter(({ kid }) => header.kid === null || kid === header.kid)
    .flatMap(({ verifiers }) => verifiers.get(header.alg) ?? []);
}

/** Returns the JSON Web Keys in a text, or null for a plain secret. */
function parseJwks(text: string): readonly JsonObject[] | null {
  const value = parseJsonObject(text);
  if (value === null) return null;
  if ("kty" in value) return [value];
  if (!("keys" in value)) return null;
  if (!Array.isArray(value.keys) || !value.keys.every(isJsonObject)) {
    throw new AuthSettingError("The 'keys' of the JWT secret must be an array of JSON Web Keys.");
  }
  return value.keys;
}

/** The algorithms of a key without `alg`, by its type and curve. */
const algorithmsByType: ReadonlyMap<string, readonly string[]> = new Map([
  ["oct", ["HS256", "HS384", "HS512"]],
  ["RSA", ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"]],
  ["EC P-256", ["ES256"]],
  ["EC P-384", ["ES384"]],
  ["EC P-521", ["ES512"]],
  ["OKP Ed25519", ["EdDSA", "Ed25519"]],
]);

/** Members of the public part of a JSON Web Key, by key type (RFC 7518, section 6; RFC 8037). */
const publicMembers: ReadonlyMap<unknown, readonly string[]> = new Map([
  ["RSA", ["kty", "n", "e"]],
  ["EC", ["kty", "crv", "x", "y"]],
  ["OKP", ["kty", "crv", "x"]],
]);

/** Imports the public part of a JSON Web Key, or an HMAC key. Throws `AuthSettingError` for an
 * invalid key; `index` is its position in the secret, from 0. */
export async function importKey(jwk: JsonObject, index: number): Promise<VerificationKey> {
  const { kid = null } = jwk;
  try {
    if (kid !== null && typeof kid !== "string") throw new TypeError("kid must be a string");
    const usable = usableAlgorithms(jwk);
    const verifiers = await Promise.all(
      usable.map(async (alg) => [alg, await importVerifier(jwk, alg)] as const),
    );
    return { kid, verifiers: new Map(verifiers) };
  } catch (error) {
    if (error instanceof AuthSettingError) throw error;
    // The message omits the cause, which may quote the key.
    throw new AuthSettingError(`JSON Web Key ${index + 1} of the JWT secret cannot be used.`);
  }
}

function usableAlgorithms(jwk: JsonObject): readonly string[] {
  const { kty, crv, alg, use } = jwk;
  if (use === "enc") return [];
  const hasCurve = kty === "EC" || kty === "OKP";
  if (hasCurve && typeof crv !== "string") throw new TypeError("crv must be a string");
  return algorithmsOf(jwk).filter((name) => alg === undefined || alg === name);
}

/** Returns the algorithms of a key's type and curve. A key without `alg` signs by the first. */
export function algorithmsOf({ kty, crv }: JsonObject): readonly string[] {
  const type = kty === "EC" || kty === "OKP" ? `${kty} ${crv}` : String(kty);
  return algorithmsByType.get(type) ?? [];
}

async function importVerifier(jwk: JsonObject, alg: string): Promise<CryptoKey> {
  if (jwk.kty === "oct") {
    const secret = await importJWK({ kty: "oct", k: jwk.k } as JWK);
    return await importHmac(secret as Uint8Array, Number(alg.slice(2)));
  }
  const members = publicMembers.get(jwk.kty) ?? [];
  const publicPart = Object.fromEntries(members.map((name) => [name, jwk[name]]));
  const key = await importJWK(publicPart as JWK, alg) as CryptoKey;
  const { modulusLength } = key.algorithm as Partial<RsaHashedKeyAlgorithm>;
  if (modulusLength !== undefined && modulusLength < minModulusBits) {
    throw new AuthSettingError(`RSA keys of the JWT secret must have ${minModulusBits} bits.`);
  }
  if (jwk.kty === "EC") await checkPoint(key);
  return key;
}

/** Throws if the coordinates are not a point of the curve. Some runtimes do not check on import. */
async function checkPoint(key: CryptoKey): Promise<void> {
  const { namedCurve } = key.algorithm as EcKeyAlgorithm;
  const signature = new Uint8Array(2 * Math.ceil(Number(namedCurve.slice(2)) / 8));
  await crypto.subtle.verify({ name: "ECDSA", hash: "SHA-256" }, key, signature, new Uint8Array());
}

function importHmac(secret: Uint8Array, bits: number): Promise<CryptoKey> {
  const algorithm = { name: "HMAC", hash: `SHA-${bits}` };
  return crypto.subtle.importKey("raw", new Uint8Array(secret), algorithm, false, ["verify"]);
}

function decodeText(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}
