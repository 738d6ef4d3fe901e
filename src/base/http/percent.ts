/** Percent-encoding, and decoding that leaves an invalid escape unchanged, as servers do. @module */

/** How bytes that are not UTF-8 decode: `replace` makes U+FFFD, `reject` fails. */
export type Invalid = "replace" | "reject";

/** Decodes `%XX`; null if the bytes are not UTF-8 and the mode is `reject`. */
export function percentDecode(text: string, invalid: "replace"): string;
export function percentDecode(text: string, invalid: Invalid): string | null;
export function percentDecode(text: string, invalid: Invalid): string | null {
  if (!text.includes("%")) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return decodeLeniently(text, invalid);
  }
}

function decodeLeniently(text: string, invalid: Invalid): string | null {
  const decoder = new TextDecoder("utf-8", { fatal: invalid === "reject", ignoreBOM: true });
  try {
    return text.replace(/(?:%[0-9a-f]{2})+/gi, (escapes) =>
      decoder.decode(
        Uint8Array.from(escapes.slice(1).split("%"), (byte) => parseInt(byte, 16)),
      ));
  } catch {
    return null;
  }
}

/** Encodes all but ASCII letters, digits and `-_.~`. */
export function encodeText(text: string): string {
  if (!/[^A-Za-z0-9\-_.~]/.test(text)) return text;
  return encodeURIComponent(text.toWellFormed()).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/** Encodes characters that a path or its template cannot contain (RFC 3986 section 3.3). */
export function pathSegment(name: string): string {
  return name.toWellFormed().replace(notInPath, encodeURIComponent);
}

const notInPath = /[^\x80-\u{10ffff}A-Za-z0-9\-_.~!$&'()*+,;=:@]/gu;
