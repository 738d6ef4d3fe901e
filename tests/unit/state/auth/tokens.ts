/** Makes tokens, good and bad, for the tests of this folder. */
import { deepStrictEqual } from "node:assert/strict";
import { ServiceError } from "../../../../src/base/errors/service_error.ts";
import { parseToken, type VerifiedToken } from "../../../../src/state/auth/jwt.ts";
import { type KeySet, loadKeys } from "../../../../src/state/auth/keys.ts";
import {
  type Issuers,
  type TokenIssuer,
  verifyToken,
} from "../../../../src/state/auth/verify_token.ts";

export const secret = "reallyreallyreallyreallyverysafe";

/** Header HS256, payload `{"role":"clerk"}`, signed with `secret`: made by another library. */
export const knownToken = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJyb2xlIjoiY2xlcmsifQ." +
  "NYbqZ00ZVLzyDtHg1rRFMRTPLLX6lFnlyek38a4DzsE";

export function utf8(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}

export async function keysOf(text: string | object): Promise<KeySet> {
  const keys = await loadKeys(utf8(typeof text === "string" ? text : JSON.stringify(text)));
  if (keys === null) throw new Error("no secret");
  return keys;
}

/** An issuer with these keys in the configuration. */
export function localIssuer(keys: KeySet): TokenIssuer {
  return { name: null, localKeys: keys, remoteKeys: null, rules: null };
}

/** Accepts tokens of any issuer that these keys verify. */
export function unlisted(keys: KeySet): Issuers {
  return { listed: new Map(), unlisted: localIssuer(keys) };
}

/** Verifies a token with keys of the configuration. */
export async function verifyWith(text: string, keys: KeySet): Promise<VerifiedToken> {
  return (await verifyToken(parseToken(text), localIssuer(keys))).token;
}

export function base64Url(bytes: Uint8Array | string): string {
  const binary = typeof bytes === "string" ? utf8(bytes) : bytes;
  return btoa(String.fromCharCode(...binary))
    .replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** Signs with HMAC, whatever the header says. */
export async function hmacToken(
  { header, payload, secret: key, hash = "SHA-256" }: {
    header: string;
    payload: string | Uint8Array;
    secret: string | Uint8Array<ArrayBuffer>;
    hash?: string;
  },
): Promise<string> {
  const raw = typeof key === "string" ? utf8(key) : key;
  const cryptoKey = await crypto.subtle.importKey("raw", raw, { name: "HMAC", hash }, false, [
    "sign",
  ]);
  const signed = `${base64Url(header)}.${base64Url(payload)}`;
  const signature = await crypto.subtle.sign("HMAC", cryptoKey, utf8(signed));
  return `${signed}.${base64Url(new Uint8Array(signature))}`;
}

/** A good HS256 token with this payload. */
export function tokenOf(payload: string | Uint8Array | object): Promise<string> {
  return hmacToken({
    header: '{"alg":"HS256","typ":"JWT"}',
    payload: typeof payload === "string" || payload instanceof Uint8Array
      ? payload
      : JSON.stringify(payload),
    secret,
  });
}

/** What is compared of a refusal. */
export interface Refusal {
  readonly code: string;
  readonly status: number;
  readonly message: string;
  readonly details: unknown;
}

export function refusal(message: string, details: string | null = null): Refusal {
  return { code: "301", status: 401, message, details };
}

/** Expects `run` to raise, or to reject with, this refusal. */
export async function expectRefusal(
  run: () => unknown,
  expected: Refusal,
  row = "",
): Promise<void> {
  let error: unknown;
  try {
    await run();
  } catch (thrown) {
    error = thrown;
  }
  if (!(error instanceof ServiceError)) throw new Error(`${row}: not refused: ${error}`);
  const { code, status, message, details = null } = error.fields;
  deepStrictEqual({ code, status, message, details }, expected, row);
}
