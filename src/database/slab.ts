/**
 * Memory for small copies: many of them share an allocation, each of which costs runtimes more than a
 * copy does.
 *
 * @module
 */

/** Bytes of an allocation. It lasts as long as any of the copies in it. */
const size = 32 * 1024;
/** Longer copies have an allocation of their own. */
const longest = 1024;

let buffer = new ArrayBuffer(0);
let used = 0;

/** Copies bytes. What was copied is not to be transferred, nor its `buffer` to be looked at. */
export function copied(bytes: Uint8Array): Uint8Array {
  const { length } = bytes;
  if (length > longest) return bytes.slice();
  if (used + length > buffer.byteLength) {
    buffer = new ArrayBuffer(size);
    used = 0;
  }
  const copy = new Uint8Array(buffer, used, length);
  copy.set(bytes);
  used += length;
  return copy;
}
