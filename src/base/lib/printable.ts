/** Texts for terminals. @module */

/** Puts a text on one line. Replaces control characters by spaces and removes tabs. */
export function oneLine(source: string): string {
  return source.trim().replaceAll("\t", "").replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " ");
}

/** Escapes control characters, which could change the terminal. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Zl}\p{Zp}]/gu, (character) => {
    const named = { "\n": "\\n", "\r": "\\r", "\t": "\\t" }[character];
    return named ?? `\\x${character.codePointAt(0)!.toString(16).padStart(2, "0")}`;
  });
}

/** Returns a number with its noun: `1 relation`, `2 relations`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

/** Returns indented JSON in which control characters are escapes. */
export function printableJson(value: unknown): string {
  const text = JSON.stringify(value, null, 2);
  return `${
    text.replace(/[\x7f-\x9f\u2028\u2029]/g, (character) =>
      `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`)
  }\n`;
}
