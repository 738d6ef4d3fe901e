/**
 * What may stand in the head of an HTTP response: texts from the database become header values,
 * reason phrases and statuses only through here.
 *
 * @module
 */

const tokenCharacters = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const utf8 = new TextEncoder();

/** Says whether a text is a header name: a `token` of RFC 9110 section 5.6.2. */
export function isHeaderName(text: string): boolean {
  return tokenCharacters.test(text);
}

/**
 * Makes a header value of a text, or `null` when it contains a control character, which would end
 * the field and start another. Beyond ASCII the value is the text's UTF-8, one character per byte, as
 * the Fetch standard wants it.
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

/** Makes a reason phrase (RFC 9112 section 4) of a text: line breaks become spaces. */
export function reasonPhrase(text: string): string {
  // deno-lint-ignore no-control-regex
  return byteString(text.slice(0, 256).replace(/[\x00-\x1f\x7f]+/g, " ").trim());
}

/**
 * Gives the status that is sent for one that was asked for: 500 for everything that is not a final
 * status code that a `Response` of the Fetch standard can have (200 to 599).
 */
export function sendableStatus(status: number): number {
  return Number.isInteger(status) && status >= 200 && status <= 599 ? status : 500;
}

/** Says whether a response of this status has a body; a `Response` with 204, 205 or 304 has none. */
export function hasBody(status: number): boolean {
  return status !== 204 && status !== 205 && status !== 304;
}

function byteString(text: string): string {
  // deno-lint-ignore no-control-regex
  if (/^[\x00-\x7f]*$/.test(text)) return text;
  return Array.from(utf8.encode(text), (byte) => String.fromCharCode(byte)).join("");
}
