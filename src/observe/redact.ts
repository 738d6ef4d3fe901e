/**
 * Texts of others, made fit for one line of a log.
 *
 * @module
 */

/** Longer texts are cut. */
const longestText = 8192;

/**
 * Puts a text on one line and hides what looks like a token, a password or the user and password of
 * a URI. Takes time linear in the length of the text.
 */
export function redact(source: string): string {
  const cut = source.length > longestText ? `${source.slice(0, longestText)}…` : source;
  return oneLine(cut)
    .replace(/[\w.-]+/g, (word) => (isToken(word) ? "***" : word))
    .replace(/\S+/g, hideAuthority)
    .replace(/(password\s*=\s*)('[^']*'?|[^\s'&]*)/gi, "$1***");
}

/** Puts a text on one line: line feeds and the like become spaces, tabs go. */
export function oneLine(source: string): string {
  return source.trim().replaceAll("\t", "").replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " ");
}

/** Three parts between dots, of which the first is the start of a JSON object in base64. */
function isToken(word: string): boolean {
  return word.startsWith("eyJ") && word.split(".").length >= 3;
}

/** The password of a connection string may hold slashes, so it ends at the last `@`. */
function hideAuthority(word: string): string {
  const start = /postgres(?:ql)?:\/\//i.exec(word);
  const at = word.lastIndexOf("@");
  if (start === null || at < start.index) return word;
  return `${word.slice(0, start.index + start[0].length)}***${word.slice(at)}`;
}
