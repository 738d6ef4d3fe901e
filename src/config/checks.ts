/**
 * Checks of texts that have a syntax of their own. Each says whether a text is right, in time linear
 * in its length.
 *
 * @module
 */

const uriCharacters = "[A-Za-z0-9._~!$&'()*+,;=:@/-]|%[0-9A-Fa-f]{2}";

/** RFC 3986: scheme, hierarchical part, query, fragment; brackets only around an IP literal. */
const uri = new RegExp(
  "^[A-Za-z][A-Za-z0-9+.-]*:" +
    `(?://(?:[^/?#[\\]@]*@)?\\[[0-9A-Fa-f:.]+\\](?=[:/?#]|$))?(?:${uriCharacters})*` +
    `(?:\\?(?:${uriCharacters}|\\?)*)?(?:#(?:${uriCharacters}|\\?)*)?$`,
);

/** Returns whether a text is an absolute URI (RFC 3986, section 3). */
export function isUri(value: string): boolean {
  return uri.test(value);
}

const proxyUri = new RegExp(
  "^https?://(?:\\[[0-9A-Fa-f:.]+\\]|(?:[A-Za-z0-9._~!$&'()*+,;=-]|%[0-9A-Fa-f]{2})+)" +
    `(?::(?<port>[0-9]{1,5}))?(?:/(?:${uriCharacters})*)?$`,
  "i",
);

/** Returns whether a text is an `http` or `https` URI of nothing but host, port and path. */
export function isProxyUri(value: string): boolean {
  const match = proxyUri.exec(value);
  if (match === null) return false;
  const port = match.groups?.port;
  return port === undefined || (Number(port) >= 1 && Number(port) <= 65535);
}

/** Returns whether a text is an origin as browsers send it: `https://example.com:8443`. */
export function isOrigin(value: string): boolean {
  return value === "null" || /^[a-z][a-z0-9+.-]*:\/\/[^\s/?#@,]+$/.test(value);
}

/** Returns whether a text is a header's name (RFC 9110, section 5.1). */
export function isHeaderName(value: string): boolean {
  return /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/.test(value);
}

/** Returns whether a text is the name of a PostgreSQL setting: words joined by dots. */
export function isSettingName(value: string): boolean {
  return /^[A-Za-z_][A-Za-z0-9_$]*(?:\.[A-Za-z_][A-Za-z0-9_$]*)*$/.test(value);
}

/** Returns whether a text can be bound to: a host's name, an address, or `*`, `*4`, `!4`, `*6`, `!6`. */
export function isHost(value: string): boolean {
  return /^(?:\*|[*!][46]|[A-Za-z0-9._:%-]+)$/.test(value);
}

/** Returns whether a text is a host's name without a port: `admin.example.com`. */
export function isHostName(value: string): boolean {
  return /^[A-Za-z0-9_](?:[A-Za-z0-9._-]*[A-Za-z0-9_])?$/.test(value);
}

/** Returns whether a text may be a role path; authentication parses it whole. */
export function startsRolePath(value: string): boolean {
  return value.startsWith("$") || value.startsWith(".");
}

/** The longest path that the address of a Unix socket holds on Linux, without its final zero. */
const maxSocketPathBytes = 107;

/** Returns whether a text can be the path of a Unix socket. */
export function isSocketPath(value: string): boolean {
  return new TextEncoder().encode(value).length <= maxSocketPathBytes;
}

/** Says what is wrong with the schemas to expose, one by one. */
export function checkSchema(schema: string): true | string {
  return schema === "pg_catalog" || schema === "information_schema"
    ? `db-schemas does not allow schema: '${schema}'`
    : true;
}
