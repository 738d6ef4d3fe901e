/**
 * Finds the token of a request in the `Authorization` header (RFC 6750), or in a cookie. @module
 */
import { cookieValue } from "../../base/http/cookie.ts";

/** The token of a request, and the header that contains it. */
export interface Credential {
  /** Null without a token. */
  readonly token: string | null;
  readonly source: "bearer" | "cookie" | "none";
}

const noCredential: Credential = { token: null, source: "none" };

/** Returns the token of a request. A Bearer token takes precedence over the cookie, even if the
 * token is empty. `cookieName` is null if cookies are not accepted. */
export function readCredential(
  { authorization, cookie }: {
    readonly authorization: string | null;
    /** Returns the `Cookie` header. */
    readonly cookie: () => string | null;
  },
  cookieName: string | null,
): Credential {
  const bearer = authorization === null ? null : bearerToken(authorization);
  if (bearer !== null) return { token: bearer, source: "bearer" };
  const header = cookieName === null ? null : cookie();
  const token = header === null || cookieName === null ? null : cookieValue(header, cookieName);
  return token === null ? noCredential : { token, source: "cookie" };
}

/**
 * Returns the token of a header value, or null if the scheme is not Bearer. The scheme ends at the
 * first white space. If there are several `Authorization` headers, which the Fetch standard joins
 * by a comma and a space, the first one applies.
 */
export function bearerToken(authorization: string): string | null {
  const next = authorization.indexOf(", ");
  const first = next === -1 ? authorization : authorization.slice(0, next);
  if (first.slice(0, 6).toLowerCase() !== "bearer") return null;
  const rest = first.slice(6);
  return rest === "" || rest[0] === " " || rest[0] === "\t" ? rest.trimStart() : null;
}
