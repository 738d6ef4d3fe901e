/**
 * The text of a cursor: base64url (RFC 4648, section 5) of the JSON `[1,"<fingerprint>",[key,…]]`.
 * It is not signed, because a forged cursor only changes the values that rows are compared with.
 * @module
 */
import { base64url } from "jose";

export interface CursorPosition {
  /** Identifies the order and the sorted rows. */
  readonly fingerprint: string;
  /** The row's values of the order's terms, as texts; null for NULL. */
  readonly keys: readonly (string | null)[];
}

const version = 1;
/** Longer texts are rejected before they are decoded. */
const maxCursorLength = 4096;
export const maxCursorKeys = 16;

/** Returns the position in a cursor; undefined if the text is not a cursor of this version. */
export function readCursor(text: string): CursorPosition | undefined {
  if (text.length > maxCursorLength || !/^[A-Za-z0-9_-]+$/.test(text)) return undefined;
  try {
    const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
    return positionOf(JSON.parse(utf8.decode(base64url.decode(text))));
  } catch {
    return undefined;
  }
}

function positionOf(json: unknown): CursorPosition | undefined {
  if (!Array.isArray(json) || json.length !== 3 || json[0] !== version) return undefined;
  const [, fingerprint, keys] = json as readonly unknown[];
  if (!isText(fingerprint) || !Array.isArray(keys) || keys.length > maxCursorKeys) return undefined;
  return keys.every(isKey) ? { fingerprint, keys } : undefined;
}

function isKey(key: unknown): key is string | null {
  return key === null || isText(key);
}

/** Returns whether PostgreSQL can store a text: it has no U+0000. */
function isText(value: unknown): value is string {
  return typeof value === "string" && value.isWellFormed() && !value.includes("\0");
}

/** Returns the cursor of a position. The SQL of a page makes the same text for a row. */
export function writeCursor({ fingerprint, keys }: CursorPosition): string {
  return base64url.encode(JSON.stringify([version, fingerprint, keys]));
}
