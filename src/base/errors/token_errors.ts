/** Errors of tokens. @module */
import { bearerChallenge, defineError } from "./definition.ts";

function invalidToken(message: string, details: string | null = null, advice?: string) {
  const description = message.replaceAll("\\", "\\\\").replaceAll('"', '\\"');
  return {
    message,
    details,
    ...(advice === undefined ? {} : { advice }),
    headers: [
      ["WWW-Authenticate", `Bearer error="invalid_token", error_description="${description}"`],
    ] as const,
  };
}

/** Hint for a client whose key is not a JWT and not in `api-keys`. */
export const keyHint = "Send a JWT, or list the SHA-256 of the key in api-keys";

export const tokenErrors = {
  noSecret: defineError("300", 500, () => ({
    message: "Server lacks JWT secret",
    advice: "jwt-secret is not set",
  })).when("the request has a token, and no option names keys, such as `jwt-secret`"),
  invalidToken: defineError("301", 401, invalidToken).when("the token is not valid"),
  unknownApiKey: defineError("301", 401, () => ({
    message: "Unknown API key",
    advice: keyHint,
    headers: bearerChallenge,
  })).when("`api-keys` does not list the key; a JWT would have three parts"),
  invalidClaims: defineError("301", 401, (message: string) => ({
    ...invalidToken(message),
    variant: "claims",
  })).when("a claim of the token is invalid or expired: `exp`, `nbf`, `iat`, `aud`"),
  noAnonymousRole: defineError("302", 401, () => ({
    message: "Anonymous access is disabled",
    advice: "Send a token, or set db-anon-role",
    headers: bearerChallenge,
  })).when("the request has no token and `db-anon-role` is not set"),
  issuerNotAccepted: defineError("301", 401, () => ({
    ...invalidToken("JWT issuer is not accepted"),
    variant: "issuer",
  })).when("the token's `iss` is missing, or no option names it; in `pgrst`: 311"),
  issuerRuleViolated: defineError("301", 401, (rule: string) => ({
    ...invalidToken("JWT does not satisfy the issuer's rules", rule),
    variant: "issuer rules",
  })).when("the token violates a rule of its issuer in `jwt-issuers`; in `pgrst`: 312"),
  keysUnavailable: defineError("310", 503, ({ issuer, retryAfter }: {
    /** Null if tokens may have any issuer. */
    readonly issuer: string | null;
    /** Whole seconds until the next attempt. */
    readonly retryAfter: number;
  }) => ({
    message: "The keys of the token's issuer are not available",
    details: issuer,
    headers: [["Retry-After", String(retryAfter)]],
  })).when("the keys of the token's issuer cannot be fetched"),
  revocationsUnavailable: defineError("310", 503, (retryAfterSeconds: number) => ({
    message: "The list of revoked tokens is not available",
    headers: [["Retry-After", String(retryAfterSeconds)]],
  })).when("the list of `jwt-revocations` was never read"),
  crossOriginWrite: defineError("313", 403, () => ({
    message: "Cross-origin request refused",
    hint: "Send the token in the Authorization header",
  })).when("with `jwt-cookie-name`, a page of another origin writes"),
  revokedToken: defineError("301", 401, () => ({
    ...invalidToken("JWT was revoked"),
    variant: "revocation",
  })).when("`jwt-revocations` has the token; in `pgrst`: 314"),
  roleNotAllowed: defineError("315", 403, () => ({ message: "The issuer may not give this role" }))
    .when("the token's role is not one of `allowed_roles` of its issuer"),
} as const;
