/** Text for terminals. @module */

/** Escapes control characters, which could change the terminal. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Zl}\p{Zp}]/gu, (character) => {
    const named = { "\n": "\\n", "\r": "\\r", "\t": "\\t" }[character];
    return named ?? `\\x${character.codePointAt(0)!.toString(16).padStart(2, "0")}`;
  });
}
