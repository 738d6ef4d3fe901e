/** The names in a body: keys, or columns of CSV. A body may have millions of them, but a relation
 * has at most 1,664 columns and a function at most 100 parameters. @module */

/** Maximum number of names that are stored. Further names are only counted. */
export const maxNames = 4096;

/** Maximum number of bytes of a name that are read. Names in PostgreSQL have at most 63 bytes. */
export const maxNameBytes = 1024;

const utf8 = new TextDecoder("utf-8", { ignoreBOM: true });

/** ASCII texts up to this length are decoded in JavaScript, which is faster than `TextDecoder`. */
const shortText = 32;

/** Returns the text of a name. A name that is too long for PostgreSQL is cut, with an ellipsis. */
export function nameText(bytes: Uint8Array, start: number, end: number): string {
  if (end - start <= shortText) {
    let text = "";
    let at = start;
    for (let code; at < end && (code = bytes[at]!) < 0x80; at++) text += String.fromCharCode(code);
    if (at === end) return text;
  }
  const shortEnd = Math.min(end, start + maxNameBytes);
  const text = utf8.decode(bytes.subarray(start, shortEnd));
  return shortEnd < end ? `${text}…` : text;
}

/** Returns a name that is cut as by {@linkcode nameText}. */
export function shortName(text: string): string {
  return text.length > maxNameBytes ? `${text.slice(0, maxNameBytes)}…` : text;
}

/** Collects the first bytes of a name that arrives in several chunks. */
export class NameBuffer {
  /** Size of the buffer: one more byte than is read, so that {@linkcode nameText} recognises a name
   * that is too long. */
  readonly bytes = new Uint8Array(maxNameBytes + 1);
  length = 0;

  add(chunk: Uint8Array, start: number, end: number): void {
    const stop = Math.min(end, start + this.bytes.length - this.length);
    if (stop <= start) return;
    this.bytes.set(chunk.subarray(start, stop), this.length);
    this.length += stop - start;
  }
}
