/**
 * Percent-decoding as lenient as servers are: what is no escape stands for itself.
 *
 * @module
 */

/** What becomes of escaped bytes that are no UTF-8: U+FFFD, or a text that cannot be decoded. */
export type Invalid = "replace" | "reject";

/** Decodes `%XX`; null when `reject` was asked for and the bytes are no UTF-8. */
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
  const bytes = new TextEncoder().encode(text);
  let length = 0;
  for (let at = 0; at < bytes.length; at++) {
    const escaped = bytes[at] === 0x25 ? hexByte(bytes[at + 1], bytes[at + 2]) : -1;
    if (escaped >= 0) at += 2;
    bytes[length++] = escaped >= 0 ? escaped : bytes[at] ?? 0;
  }
  try {
    const decoder = new TextDecoder("utf-8", { fatal: invalid === "reject", ignoreBOM: true });
    return decoder.decode(bytes.subarray(0, length));
  } catch {
    return null;
  }
}

function hexByte(high: number | undefined, low: number | undefined): number {
  const [one, two] = [hexDigit(high), hexDigit(low)];
  return one < 0 || two < 0 ? -1 : one * 16 + two;
}

/** The value of an ASCII hexadecimal digit; -1 when it is none. */
export function hexDigit(code = 0): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30;
  const lower = code | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1;
}
