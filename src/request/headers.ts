/** Request headers as database code sees them. @module */
import { parseCookies } from "../http/cookie.ts";

/** Headers by lower-case name, and cookies by name. */
export interface HeaderRecords {
  readonly headers: Readonly<Record<string, string>>;
  readonly cookies: Readonly<Record<string, string>>;
}

/**
 * Copies headers, and cookies out of them. Runtimes hand out each byte of a value as one character;
 * values whose bytes are UTF-8 are decoded.
 */
export function readHeaders(received: Headers): HeaderRecords {
  const headers: Record<string, string> = {};
  let cookie: string | null = null;
  received.forEach((value, name) => {
    const text = decodeBytes(value);
    if (name === "cookie") cookie = text;
    // Assigned to, this name would be taken for the object's prototype.
    else if (name !== "__proto__") headers[name] = text;
  });
  return { headers, cookies: parseCookies(cookie) };
}

/** Returns the text of a value with one character per byte; the value if its bytes are not UTF-8. */
export function decodeBytes(value: string): string {
  if (!/[\x80-\xff]/.test(value)) return value;
  const bytes = Uint8Array.from(value, (character) => character.charCodeAt(0));
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return value;
  }
}
