/** Percent-decoding as lenient as servers are: an invalid escape stands for itself. @module */

/** How escaped bytes that are not UTF-8 decode: to U+FFFD, or not at all. */
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

/** The value of an ASCII hexadecimal digit; -1 for any other character. */
export function hexDigit(code = 0): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30;
  const lower = code | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1;
}
