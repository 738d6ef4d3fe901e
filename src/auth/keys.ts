/**
 * The keys that tokens are verified with.
 *
 * @module
 */
import { importJWK, type JWK } from "jose";
import { isJsonObject, type JsonObject, parseJsonObject } from "../lib/json_object.ts";
import { AuthSettingError } from "./setting_error.ts";

/** A key with what it takes to verify each algorithm that it may be used with. */
export interface VerificationKey {
  readonly kid: string | null;
  /** By the `alg` of a token's header. Empty for a key that never fits. */
  readonly verifiers: ReadonlyMap<string, CryptoKey>;
}

export interface KeySet {
  readonly keys: readonly VerificationKey[];
}

/** Every algorithm that a token may be signed with. */
export const algorithms: ReadonlySet<string> = new Set([
  ...["HS256", "HS384", "HS512"],
  ...["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"],
  ...["ES256", "ES384", "ES512"],
  ...["EdDSA", "Ed25519"],
]);

const minSecretBytes = 32;
const minModulusBits = 2048;

/**
 * Makes keys of the secret: a JSON Web Key Set, one JSON Web Key (RFC 7517), or an HMAC key of at
 * least 32 bytes, which verifies HS256 only. `null` when there is no secret.
 *
 * Keys for encryption (`use: "enc"`) and those of an unknown `kty`, `crv` or `alg` never fit a token.
 * Only the public part of a key is used.
 *
 * Raises `AuthSettingError` for a secret that is too short, for a JSON Web Key that cannot be used,
 * for RSA keys of less than 2048 bits (RFC 7518 section 3.3), and for a key in PEM, which taken as a
 * plain secret would let everyone who has the public key sign tokens.
 */
export async function loadKeys(secret: Uint8Array | null): Promise<KeySet | null> {
  if (secret === null || secret.byteLength === 0) return null;
  const jwks = readSecret(secret);
  if (jwks !== null) return { keys: await Promise.all(jwks.map(importKey)) };
  return { keys: [{ kid: null, verifiers: new Map([["HS256", await importHmac(secret, 256)]]) }] };
}

/**
 * Gives the JSON Web Keys of a secret, `null` when it is a plain one. Raises what can be told without
 * importing a key: `AuthSettingError` for a secret that is too short, for a list of keys that is none,
 * and for PEM.
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
 * Gives the keys that fit a token's header, in the order of the set: keys with exactly its `kid` (all
 * keys when it has none) that may be used with its `alg`. The type of a key fixes its algorithms, so
 * a public key is never taken as a secret.
 */
export function selectKeys(
  keySet: KeySet,
  header: { readonly alg: string; readonly kid: string | null },
): readonly CryptoKey[] {
  return keySet.keys
    .filter(({ kid }) => header.kid === null || kid === header.kid)
    .flatMap(({ verifiers }) => verifiers.get(header.alg) ?? []);
}

/** Gives the JSON Web Keys in a text, or `null` when it is to be taken as a plain secret. */
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

/** The algorithms that a key may be used with when it has no `alg`, by its type and its curve. */
const algorithmsByType: ReadonlyMap<string, readonly string[]> = new Map([
  ["oct", ["HS256", "HS384", "HS512"]],
  ["RSA", ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"]],
  ["EC P-256", ["ES256"]],
  ["EC P-384", ["ES384"]],
  ["EC P-521", ["ES512"]],
  ["OKP Ed25519", ["EdDSA", "Ed25519"]],
]);

/** The members that make the public part of a key, by its type (RFC 7518 section 6, RFC 8037). */
const publicMembers: ReadonlyMap<unknown, readonly string[]> = new Map([
  ["RSA", ["kty", "n", "e"]],
  ["EC", ["kty", "crv", "x", "y"]],
  ["OKP", ["kty", "crv", "x"]],
]);

async function importKey(jwk: JsonObject, index: number): Promise<VerificationKey> {
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
    // The cause is left out: it may quote the key.
    throw new AuthSettingError(`JSON Web Key ${index + 1} of the JWT secret cannot be used.`);
  }
}

function usableAlgorithms({ kty, crv, alg, use }: JsonObject): readonly string[] {
  if (use === "enc") return [];
  const hasCurve = kty === "EC" || kty === "OKP";
  if (hasCurve && typeof crv !== "string") throw new TypeError("crv must be a string");
  const type = hasCurve ? `${kty} ${crv}` : String(kty);
  return (algorithmsByType.get(type) ?? []).filter((name) => alg === undefined || alg === name);
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

/** Raises when the coordinates are no point of the curve: not every runtime looks at import. */
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
