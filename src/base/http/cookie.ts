/** The `Cookie` request header (RFC 6265, section 4.2). @module */

/** Returns cookies by name, quotes included. If a name occurs twice, the last cookie applies. */
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

/**
 * Returns the value of the first cookie of a name, without double quotes around it; null if there is no such
 * cookie, or if its value is empty. User agents send cookies of longer paths first (section 5.4).
 */
export function cookieValue(header: string, name: string): string | null {
  for (const piece of header.split(";")) {
    const text = piece.trim();
    if (!text.startsWith(`${name}=`)) continue;
    const value = text.slice(name.length + 1);
    const isQuoted = value.length > 1 && value.startsWith('"') && value.endsWith('"');
    return (isQuoted ? value.slice(1, -1) : value) || null;
  }
  return null;
}

/** Returns cookies in which the value of one name is `***`. */
export function maskCookie(
  cookies: Readonly<Record<string, string>>,
  name: string,
): Readonly<Record<string, string>> {
  return Object.hasOwn(cookies, name) ? { ...cookies, [name]: "***" } : cookies;
}
