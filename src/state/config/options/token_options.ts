/** Options of tokens. @module */
import { isHeaderName } from "../../../base/errors/http_text.ts";
import { isKeyUrl, isOrigin, isUri } from "../checks.ts";
import { functionName, integer, text } from "../codecs.ts";
import { apiKeyList } from "../api_keys.ts";
import { jwtIssuerList } from "../jwt_issuers.ts";
import { tokenSecret } from "../secret.ts";
import { time } from "../units.ts";
import { flag, option } from "./option.ts";
import { origins } from "./shared_codecs.ts";

export const tokenOptions = {
  "api-keys": option({
    codec: apiKeyList,
    default: null,
    doc:
      "Keys that requests may have in place of tokens, as a JSON list with the SHA-256 of each; " +
      "`@` and a path names a file that holds it.",
    example: `'[{"name":"web","sha256":"${"0".repeat(64)}","role":"web_anon"}]'`,
  }),
  "jwt-apikey-header": flag({
    doc: "Takes the header `apikey` for the token of requests without `Authorization`.",
  }),
  "jwt-aud": option({
    codec: text({
      type: "text or URI",
      expected: "an audience in quotes; with a colon in it, a URI",
      check: (value) =>
        !value.includes(":") || isUri(value) || "jwt-aud should be a string or a valid URI",
    }),
    default: null,
    doc: "Audience that the `aud` claim of tokens must name; tokens without `aud` are accepted.",
    example: '"https://example.com/api"',
    isOfPostgrest: true,
  }),
  "jwt-cache-max-entries": option({
    codec: integer({ min: Number.MIN_SAFE_INTEGER }),
    default: 1000,
    doc: "Maximum number of verified tokens in the cache; 0 or less turns the cache off.",
    isOfPostgrest: true,
  }),
  "jwt-claim-settings": flag({
    doc:
      "Sets each claim of a token as `request.jwt.claim.<name>`, too, as old versions of PostgREST did.",
    inDatabase: false,
  }),
  "jwt-cookie-name": option({
    codec: text({
      type: "cookie name",
      expected: "a cookie's name in quotes",
      check: isHeaderName,
    }),
    default: null,
    doc: "Cookie that has the token of requests without a Bearer token; writes from pages of " +
      "other origins fail with SVC313 then.",
    example: '"__Host-token"',
  }),
  "jwt-cookie-origins": option({
    codec: origins({ check: (origin) => origin !== "null" && isOrigin(origin) }),
    default: null,
    doc: "Other origins whose pages may write with the cookie of `jwt-cookie-name`.",
    example: '"https://app.example.com"',
  }),
  "jwt-issuer": option({
    codec: text({ type: "text", expected: "the issuer of tokens in quotes" }),
    default: null,
    doc: "Issuer that the `iss` claim of tokens must name; without other keys, its keys are " +
      "found by OIDC Discovery.",
    example: '"https://id.example.com"',
  }),
  "jwt-issuers": option({
    codec: jwtIssuerList,
    default: null,
    doc: "Issuers, each with keys, rules and roles, as a JSON list; `@` and a path names " +
      "a file that holds it.",
    example: `'[{"issuer":"https://id.example.com","role":"web_user"}]'`,
  }),
  "jwt-jwks-url": option({
    codec: text({
      type: "URL",
      expected: "an https URL in quotes, without user, password and fragment",
      check: isKeyUrl,
    }),
    default: null,
    doc: "URL of a JSON Web Key Set that verifies tokens, in addition to `jwt-secret`.",
    example: '"https://id.example.com/jwks.json"',
  }),
  "jwt-revocations": option({
    codec: functionName,
    default: null,
    doc: "Relation, or function without arguments, that lists revoked tokens.",
    example: '"private.revoked_tokens"',
  }),
  "jwt-role-claim-key": option({
    aliases: ["role-claim-key"],
    codec: text({
      type: "JSONPath",
      expected: 'a JSONPath in quotes such as "$$.role"',
      check: (path) => /^[$.]/.test(path) || `failed to parse role-claim-key value (${path})`,
    }),
    default: "$.role",
    doc: "JSONPath of the role in a token's claims; in a file, write `$$` for `$`.",
    isOfPostgrest: true,
  }),
  "jwt-secret": option({
    codec: tokenSecret,
    default: null,
    doc: "Secret of at least 32 bytes, JSON Web Key or key set that tokens are verified with; " +
      "`@` and a path names a file that holds it.",
    example: '"a secret of at least thirty-two characters"',
    isOfPostgrest: true,
  }),
  "jwt-secret-is-base64": flag({
    aliases: ["secret-is-base64"],
    doc: "`jwt-secret` is base64.",
    example: "false",
    isOfPostgrest: true,
  }),
  "jwt-skew": option({
    codec: time({ max: 300 }),
    default: 30,
    doc: "Tolerated difference between clocks, for the claims `exp`, `nbf` and `iat`.",
  }),
} as const;
