/**
 * Errors of tokens.
 *
 * @module
 */
import { bearerChallenge, defineError } from "./definition.ts";

function invalidToken(message: string, details: string | null = null) {
  const description = message.replaceAll("\\", "\\\\").replaceAll('"', '\\"');
  return {
    message,
    details,
    headers: [
      ["WWW-Authenticate", `Bearer error="invalid_token", error_description="${description}"`],
    ] as const,
  };
}

export const tokenErrors = {
  noSecret: defineError(
    "300",
    500,
    "the request has a token and `jwt-secret` is not set",
    () => ({ message: "Server lacks JWT secret" }),
  ),
  invalidToken: defineError("301", 401, "the token is not valid", invalidToken),
  invalidClaims: defineError(
    "301",
    401,
    "a claim of the token is invalid or expired: `exp`, `nbf`, `iat`, `aud`",
    (message: string) => ({ ...invalidToken(message), variant: "claims" }),
  ),
  noAnonymousRole: defineError(
    "302",
    401,
    "the request has no token and `db-anon-role` is not set",
    () => ({
      message: "Anonymous access is disabled",
      headers: bearerChallenge,
    }),
  ),
} as const;
