/** Syntax checks of option values. Each runs in time linear in the length of the text. @module */
import { hostName, isLoopbackHost } from "../../base/http/host.ts";
import { readRateLimits } from "./rate_limit_grammar.ts";

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

/** Returns whether a text is an `http` or `https` URI of host, port and path only. */
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

/** Returns whether keys may be fetched from a URL: https, or http on this machine, without a user,
 * a password or a fragment. */
export function isKeyUrl(value: string): boolean {
  if (!URL.canParse(value) || value.includes("#")) return false;
  const { protocol, username, password, host } = new URL(value);
  if (username !== "" || password !== "") return false;
  return protocol === "https:" ||
    (protocol === "http:" && isLoopbackHost(hostName(host) ?? ""));
}

/** Returns whether a text is the name of a PostgreSQL setting: words joined by dots. */
export function isSettingName(value: string): boolean {
  return /^[A-Za-z_][A-Za-z0-9_$]*(?:\.[A-Za-z_][A-Za-z0-9_$]*)*$/.test(value);
}

/** Returns whether a text is a listen address: a host name, an address, `*`, `*4`, `!4`, `*6`, `!6`. */
export function isHost(value: string): boolean {
  return /^(?:\*|[*!][46]|[A-Za-z0-9._:%-]+)$/.test(value);
}

/** Returns whether a text is a host name without a port: `admin.example.com`. */
export function isHostName(value: string): boolean {
  return /^[A-Za-z0-9_](?:[A-Za-z0-9._-]*[A-Za-z0-9_])?$/.test(value);
}

/** Size of `sun_path` on Linux (108 bytes) without the final NUL. */
const maxSocketPathBytes = 107;

/** Returns whether a text can be the path of a Unix socket. */
export function isSocketPath(value: string): boolean {
  return new TextEncoder().encode(value).length <= maxSocketPathBytes;
}

/** Returns true for the text of `rate-limits`, else the problem. */
export function checkRateLimits(value: string): true | string {
  const reading = readRateLimits(value);
  return reading.kind === "policies" || reading.problem;
}

/** Returns true for a schema that may be exposed, else the problem. */
export function checkSchema(schema: string): true | string {
  return schema === "pg_catalog" || schema === "information_schema"
    ? `db-schemas does not allow schema: '${schema}'`
    : true;
}

const pathSegment = "/(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})+";
const longPath = new RegExp(`^(?:${pathSegment}){2,}$`);

/** Returns whether a text is a path of two or more segments that names no function. */
export function isHealthPath(value: string): boolean {
  return longPath.test(value) && !value.startsWith("/rpc/");
}

/** Returns whether a text is a path of one or more segments without a slash at its end. */
export function isPathPrefix(value: string): boolean {
  return anyPath.test(value);
}

const anyPath = new RegExp(`^(?:${pathSegment})+$`);

/** Returns whether a text is a path that names no function and no query. */
export function isMcpPath(value: string): boolean {
  return anyPath.test(value) && !/^\/rpc(?:\/|$)/.test(value) && !value.includes("$query");
}
