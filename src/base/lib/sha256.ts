/** SHA-256 of texts and bytes. @module */

/** Returns the 32 bytes of the hash of bytes, or of a text in UTF-8. */
export async function sha256(content: Uint8Array | string): Promise<Uint8Array> {
  const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes as Uint8Array<ArrayBuffer>));
}

/** Returns bytes in lower-case hexadecimal. */
export function hexOf(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Compares two hashes in constant time. */
export function areEqual(left: Uint8Array, right: Uint8Array): boolean {
  return left.reduce((difference, byte, index) => difference | (byte ^ right[index]!), 0) === 0;
}
