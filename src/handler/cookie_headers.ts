/**
 * The headers of responses where tokens may be in a cookie.
 *
 * @module
 */
import type { Credential } from "../auth/credential.ts";
import type { Config } from "../config/options.ts";
import { isCrossOrigin } from "../http/foreign_site.ts";
import { withVary } from "../http/vary.ts";
import type { HeaderList } from "../lib/header_list.ts";
import type { RawRequest } from "../request/raw_request.ts";
import type { Header } from "../response/overrides.ts";
import type { Reply } from "../response/reply.ts";
import { hasHeader } from "./sent_headers.ts";

/**
 * Keeps shared caches from serving the response to a request with another cookie, and pages of other origins
 * from setting the cookie by a request that the origin check does not see.
 */
export function withCookieHeaders(
  reply: Reply,
  { headers: requestHeaders }: RawRequest,
  { jwtCookieName, jwtCookieOrigins }: Pick<Config, "jwtCookieName" | "jwtCookieOrigins">,
  { source }: Credential,
): HeaderList {
  if (jwtCookieName === null) return reply.headers;
  const isForeign = isCrossOrigin(requestHeaders) &&
    jwtCookieOrigins?.includes(requestHeaders["origin"] ?? "") !== true;
  const headers = isForeign
    ? reply.headers.filter((header) => !setsCookie(header, jwtCookieName))
    : reply.headers;
  const varied = withVary(headers, "Cookie");
  if (source !== "cookie" || hasHeader("Cache-Control", varied)) return varied;
  return [...varied, ["Cache-Control", "private"]];
}

function setsCookie([name, value]: Header, cookieName: string): boolean {
  return name.toLowerCase() === "set-cookie" && value.trimStart().startsWith(`${cookieName}=`);
}
