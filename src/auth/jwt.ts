/**
 * Signed tokens: JSON Web Tokens (RFC 7519) in the compact form of JSON Web Signatures (RFC 7515).
 *
 * @module
 */
import { base64url, errors as joseErrors, flattenedVerify } from "jose";
import { errors } from "../errors/catalogue.ts";
import { parseJsonObject } from "../lib/json_object.ts";
import { algorithms, type KeySet, selectKeys } from "./keys.ts";

/** The claims of a token, as values and as they were written. */
export type Claims = Readonly<Record<string, unknown>>;

/** A token whose signature was verified. Its claims may still be expired. */
export interface VerifiedToken {
  readonly claims: Claims;
  /** The payload's text: numbers keep every digit. */
  readonly json: string;
}

/** Longest token that is looked at, in characters: twice what common proxies let through. */
export const maxTokenLength = 16_384;

/** The parts of a token, all base64url. */
interface TokenParts {
  readonly header: string;
  readonly payload: string;
  readonly signature: string;
}

/** What matters of a token's header. */
interface TokenHeader {
  readonly alg: string;
  readonly kid: string | null;
}

/**
 * Verifies a token's signature and reads its claims.
 *
 * Raises `errors.invalidToken` for the first of: an empty or too long token; not three parts; parts
 * that are not base64url; a header that is no JSON object, that has a `kid` or `typ` or `cty` other
 * than a string, an unknown `alg`, or a `crit` (no extension is understood here); `alg: none`; no key
 * for `alg` and `kid`; no key that verifies the signature; a payload that is not a JSON object.
 */
export async function verifyToken(token: string, keys: KeySet): Promise<VerifiedToken> {
  checkLength(token);
  const parts = splitToken(token);
  const header = readHeader(parts.header);
  const fitting = selectKeys(keys, header);
  if (fitting.length === 0) throw noSuitableKey("No suitable key was found to decode the JWT");
  return readPayload(await verifiedPayload(parts, fitting));
}

/** Raises `errors.invalidToken` for an empty token and for one that is too long to be looked at. */
export function checkLength(token: string): void {
  if (token === "") throw errors.invalidToken("Empty JWT is sent in Authorization header");
  if (token.length > maxTokenLength) {
    throw errors.invalidToken(`JWT is longer than ${maxTokenLength} characters`);
  }
}

function splitToken(token: string): TokenParts {
  const parts = token.split(".");
  const [header, payload, signature] = parts;
  if (
    parts.length !== 3 || header === undefined || payload === undefined || signature === undefined
  ) {
    throw errors.invalidToken(`Expected 3 parts in JWT; got ${parts.length}`);
  }
  if (!parts.every(isBase64Url)) throw undecodable();
  return { header, payload, signature };
}

/** Base64url without padding (RFC 7515 section 2); white space and `=` are no part of it. */
function isBase64Url(text: string): boolean {
  return text.length % 4 !== 1 && /^[A-Za-z0-9_-]*$/.test(text);
}

function readHeader(segment: string): TokenHeader {
  const text = decodeUtf8(base64url.decode(segment));
  const header = text === null ? null : parseJsonObject(text);
  if (header === null) throw undecodable();
  const { alg, kid, typ, cty } = header;
  if (typeof alg !== "string" || ![kid, typ, cty].every(isAbsentOrText)) throw undecodable();
  if (alg.toLowerCase() === "none") {
    throw errors.invalidToken(
      "Wrong or unsupported encoding algorithm",
      "JWT is unsecured but expected 'alg' was not 'none'",
    );
  }
  if (!algorithms.has(alg) || "crit" in header) throw undecodable();
  return { alg, kid: typeof kid === "string" ? kid : null };
}

/** Tries the keys in order and gives the payload's bytes. */
async function verifiedPayload(
  { header, payload, signature }: TokenParts,
  keys: readonly CryptoKey[],
): Promise<Uint8Array> {
  for (const key of keys) {
    try {
      return (await flattenedVerify({ protected: header, payload, signature }, key)).payload;
    } catch (error) {
      if (error instanceof joseErrors.JWSSignatureVerificationFailed) continue;
      if (error instanceof joseErrors.JOSEError) throw undecodable();
      throw error;
    }
  }
  throw noSuitableKey("None of the keys was able to decode the JWT");
}

function readPayload(payload: Uint8Array): VerifiedToken {
  const json = decodeUtf8(payload);
  const claims = json === null ? null : parseJsonObject(json);
  if (json === null || claims === null) throw errors.invalidClaims("Parsing claims failed");
  return { claims, json };
}

/** A byte order mark is kept, so that it is refused as JSON (RFC 8259 section 8.1). */
function decodeUtf8(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}

function isAbsentOrText(value: unknown): boolean {
  return value === undefined || typeof value === "string";
}

function undecodable() {
  return errors.invalidToken("JWT cryptographic operation failed");
}

function noSuitableKey(details: string) {
  return errors.invalidToken("No suitable key or wrong key type", details);
}
