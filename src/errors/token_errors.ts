/** Errors of tokens. @module */
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
    "the request has a token, and no option names keys, such as `jwt-secret`",
    () => ({ message: "Server lacks JWT secret", advice: "jwt-secret is not set" }),
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
      advice: "Send a token, or set db-anon-role",
      headers: bearerChallenge,
    }),
  ),
  issuerNotAccepted: defineError(
    "301",
    401,
    "the token's `iss` is missing, or no option names it; in `pgrst`: 311",
    () => ({ ...invalidToken("JWT issuer is not accepted"), variant: "issuer" }),
  ),
  issuerRuleViolated: defineError(
    "301",
    401,
    "the token violates a rule of its issuer in `jwt-issuers`; in `pgrst`: 312",
    /** The rule's member in `jwt-issuers`. */
    (rule: string) => ({
      ...invalidToken("JWT does not satisfy the issuer's rules", rule),
      variant: "issuer rules",
    }),
  ),
  keysUnavailable: defineError(
    "310",
    503,
    "the keys of the token's issuer cannot be fetched",
    ({ issuer, retryAfter }: {
      /** Null if tokens may have any issuer. */
      readonly issuer: string | null;
      /** Whole seconds until the next attempt. */
      readonly retryAfter: number;
    }) => ({
      message: "The keys of the token's issuer are not available",
      details: issuer,
      headers: [["Retry-After", String(retryAfter)]],
    }),
  ),
  revocationsUnavailable: defineError(
    "310",
    503,
    "the list of `jwt-revocations` was never read",
    /** Whole seconds until the next attempt. */
    (retryAfter: number) => ({
      message: "The list of revoked tokens is not available",
      headers: [["Retry-After", String(retryAfter)]],
    }),
  ),
  crossOriginWrite: defineError(
    "313",
    403,
    "with `jwt-cookie-name`, a page of another origin writes",
    () => ({
      message: "Cross-origin request refused",
      hint: "Send the token in the Authorization header",
    }),
  ),
  revokedToken: defineError(
    "301",
    401,
    "`jwt-revocations` has the token; in `pgrst`: 314",
    () => ({ ...invalidToken("JWT was revoked"), variant: "revocation" }),
  ),
  roleNotAllowed: defineError(
    "315",
    403,
    "the token's role is not one of `allowed_roles` of its issuer",
    () => ({ message: "The issuer may not give this role" }),
  ),
} as const;
