/**
 * The `Cookie` request header (RFC 6265, section 4.2).
 *
 * @module
 */

/**
 * Returns cookie values by name, unmodified, quotes included. The last cookie of a name counts. A
 * cookie without `=` has an empty value.
 */
export function parseCookies(header: string | null): Readonly<Record<string, string>> {
  if (header === null) return {};
  const cookies: (readonly [string, string])[] = [];
  for (const piece of header.split(";")) {
    const text = piece.replace(/^ +/, "");
    const at = text.indexOf("=");
    if (text !== "") cookies.push(at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)]);
  }
  return Object.fromEntries(cookies);
}
