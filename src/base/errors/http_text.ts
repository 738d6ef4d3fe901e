/** Validation of response head fields. Texts from the database become header values, reason phrases
 * and statuses only through this module. @module */

const tokenCharacters = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const utf8 = new TextEncoder();

/** Headers that frame the message or control the connection. Database code cannot set them. */
export const framingHeaders: ReadonlySet<string> = new Set([
  "connection",
  "content-length",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/** Returns whether a text is a header name: a `token` of RFC 9110 section 5.6.2. */
export function isHeaderName(text: string): boolean {
  return tokenCharacters.test(text);
}

/**
 * Returns a text as a header value, or null if it contains a control character, which could start
 * another field. The value has one character per UTF-8 byte, as the Fetch standard requires.
 *
 * ```ts
 * import { strictEqual } from "node:assert/strict";
 *
 * strictEqual(headerValue("a\r\nSet-Cookie: b"), null);
 * ```
 */
export function headerValue(text: string): string | null {
  // deno-lint-ignore no-control-regex
  if (/[\x00-\x08\x0a-\x1f\x7f]/.test(text)) return null;
  return byteString(text);
}

/** Returns a text as a reason phrase (RFC 9112, section 4), in which control characters become spaces. */
export function reasonPhrase(text: string): string {
  // deno-lint-ignore no-control-regex
  return byteString(text.slice(0, 256).replace(/[\x00-\x1f\x7f]+/g, " ").trim());
}

/** Returns a status that a `Response` can have (200 to 599); 500 for any other. */
export function sendableStatus(status: number): number {
  return Number.isInteger(status) && status >= 200 && status <= 599 ? status : 500;
}

/** Returns whether a response of this status has a body: not with 204, 205 or 304. */
export function hasBody(status: number): boolean {
  return status !== 204 && status !== 205 && status !== 304;
}

function byteString(text: string): string {
  // deno-lint-ignore no-control-regex
  if (/^[\x00-\x7f]*$/.test(text)) return text;
  return Array.from(utf8.encode(text), (byte) => String.fromCharCode(byte)).join("");
}
