/** Verifies JSON Web Tokens (RFC 7519) in the compact form of JSON Web Signatures (RFC 7515).
 * @module */
import { base64url, errors as joseErrors, flattenedVerify } from "jose";
import { errors } from "../../base/errors/catalogue.ts";
import { keyHint } from "../../base/errors/token_errors.ts";
import { parseJsonObject } from "../../base/lib/json_object.ts";
import type { ServiceError } from "../../base/errors/service_error.ts";
import { algorithms } from "./keys.ts";

export type Claims = Readonly<Record<string, unknown>>;

/** A token whose signature is not verified yet. */
export interface UnverifiedToken {
  readonly header: TokenHeader;
  readonly parts: TokenParts;
}

/** A token with a valid signature. It may be expired. */
export interface VerifiedToken {
  readonly header: TokenHeader;
  readonly claims: Claims;
  /** The payload's text, in which numbers keep every digit. */
  readonly json: string;
}

/** Maximum number of characters. Common proxies accept headers of half this length. */
export const maxTokenLength = 16_384;

/** The parts of a token, all base64url. */
interface TokenParts {
  readonly header: string;
  readonly payload: string;
  readonly signature: string;
}

/** The members of a token's JOSE header that the service reads. */
export interface TokenHeader {
  readonly alg: string;
  readonly kid: string | null;
  readonly typ: string | null;
}

/**
 * Splits a token and reads its header. Throws `errors.invalidToken` for the first of:
 *
 * - an empty or too long token, not three parts, or parts that are not base64url,
 * - a header that is not a JSON object, or whose `kid`, `typ` or `cty` is not a string,
 * - `alg: none`, an unsupported `alg`, or a `crit`, since the service supports no extensions.
 */
export function parseToken(text: string): UnverifiedToken {
  checkLength(text);
  const parts = splitToken(text);
  return { header: readHeader(parts.header), parts };
}

/** Returns the `iss` claim of an unverified token; null if it is not a text. */
export function unverifiedIssuer({ parts }: UnverifiedToken): string | null {
  const text = decodeUtf8(base64url.decode(parts.payload));
  return textOrNull(text === null ? null : parseJsonObject(text)?.iss);
}

/**
 * Tries keys in order. Returns null if no key verifies the signature. Throws `errors.invalidClaims`
 * if the payload is not a JSON object.
 */
export async function verifySignature(
  { header, parts }: UnverifiedToken,
  candidates: readonly CryptoKey[],
): Promise<VerifiedToken | null> {
  for (const key of candidates) {
    const payload = await verifiedPayload(parts, key);
    if (payload !== null) return { header, ...readPayload(payload) };
  }
  return null;
}

/** Returns the error of a token that no key verifies. */
export function noSuitableKey(candidates: number, { kid }: TokenHeader): ServiceError {
  const [details, advice] = candidates > 0
    ? ["None of the keys was able to decode the JWT", "The signature does not fit jwt-secret"]
    : [
      "No suitable key was found to decode the JWT",
      kid === null ? "No key for that alg" : "No key with that kid",
    ];
  return errors.invalidToken("No suitable key or wrong key type", details, advice);
}

/** Throws `errors.invalidToken` for an empty token and for one above {@linkcode maxTokenLength}. */
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
    throw errors.invalidToken(`Expected 3 parts in JWT; got ${parts.length}`, null, keyHint);
  }
  if (!parts.every(isBase64Url)) throw undecodable();
  return { header, payload, signature };
}

/** Returns whether a text is unpadded base64url (RFC 7515, section 2), without white space and `=`.
 * Unused bits of the last character must be zero, so that bytes have only one encoding. */
function isBase64Url(text: string): boolean {
  const last = [/^/, null, /[AQgw]$/, /[AEIMQUYcgkosw048]$/][text.length % 4];
  return last?.test(text) === true && /^[A-Za-z0-9_-]*$/.test(text);
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
  return { alg, kid: textOrNull(kid), typ: textOrNull(typ) };
}

/** Returns the payload's bytes, or null if the key does not verify the signature. */
async function verifiedPayload(
  { header, payload, signature }: TokenParts,
  key: CryptoKey,
): Promise<Uint8Array | null> {
  try {
    return (await flattenedVerify({ protected: header, payload, signature }, key)).payload;
  } catch (error) {
    if (error instanceof joseErrors.JWSSignatureVerificationFailed) return null;
    if (error instanceof joseErrors.JOSEError) throw undecodable();
    throw error;
  }
}

function readPayload(payload: Uint8Array): Pick<VerifiedToken, "claims" | "json"> {
  const json = decodeUtf8(payload);
  const claims = json === null ? null : parseJsonObject(json);
  if (json === null || claims === null) throw errors.invalidClaims("Parsing claims failed");
  return { claims, json };
}

/** Decodes UTF-8. Keeps a byte order mark, so that the JSON parser rejects it (RFC 8259, section 8.1). */
function decodeUtf8(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}

function textOrNull(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

function isAbsentOrText(value: unknown): boolean {
  return value === undefined || typeof value === "string";
}

function undecodable() {
  return errors.invalidToken("JWT cryptographic operation failed");
}
