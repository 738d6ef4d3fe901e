/** The option `jwt-issuers`: a JSON list of issuers, or the path of a file with it. @module */
import { isJsonObject, type JsonObject } from "../../base/lib/json_object.ts";
import { isKeyUrl } from "./checks.ts";
import { accept, type CodecContext } from "./codecs.ts";
import { isRole, isText, isTextList, jsonList } from "./json_list.ts";
import { minSecretBytes, readNamedFile, withoutLastLineFeed } from "./secret.ts";

/** One issuer. Its fields have the names of the JSON members. */
export interface JwtIssuer {
  /** The `iss` claim of the issuer's tokens, exactly. */
  readonly issuer: string;
  /** URL of the key set. Default: the key set that OIDC Discovery finds. */
  readonly jwks_url?: string;
  /** Secret of at least 32 bytes, instead of `jwks_url`. */
  readonly secret?: string;
  /** JSON Web Key Set (RFC 7517), instead of `jwks_url`. */
  readonly keys?: { readonly keys: readonly JsonObject[] };
  /** Accepted audiences; `aud` must name one of them. Default: the value of `jwt-aud`. */
  readonly audience?: string | readonly string[];
  /** Accepted values of `alg`. Default: the asymmetric algorithms; for `secret`: HS256. */
  readonly algorithms?: readonly string[];
  /** JSONPath of the role. Default: the value of `jwt-role-claim-key`. */
  readonly role_claim?: string;
  /** Roles by the value of the role claim; `*` matches all other values. Default: the value is the
   * role. */
  readonly roles?: Readonly<Record<string, string>>;
  /** Roles that the issuer may assign. Default: all of `roles`, or `role`. */
  readonly allowed_roles?: readonly string[];
  /** Role of all tokens, instead of `role_claim` and `roles`. */
  readonly role?: string;
  /** Required claims by name, with the value or a list of accepted values. Default: none. */
  readonly required_claims?: JsonObject;
  /** Claims that must be present. Default: `exp`. */
  readonly require?: readonly string[];
  /** Required `typ` of the token's header. Default: any. */
  readonly typ?: string;
}

/** The codec of `jwt-issuers`. */
export const jwtIssuerList = jsonList<JwtIssuer>({
  noun: "issuer",
  example: '[{"issuer":"https://id.example","role":"web_user"}]',
  // Each issuer may have a key set in memory, so their number is limited.
  maxEntries: 50,
  members: {
    issuer: isText,
    jwks_url: (value) => isText(value) && isKeyUrl(value),
    secret: isText,
    keys: (value) =>
      isJsonObject(value) && Array.isArray(value.keys) && value.keys.every(isJsonObject),
    audience: (value) => isText(value) || isTextList(value),
    algorithms: isTextList,
    role_claim: isText,
    roles: (value) => isJsonObject(value) && Object.values(value).every(isRole),
    allowed_roles: (value) => isTextList(value) && value.every(isRole),
    role: isRole,
    required_claims: isJsonObject,
    require: (value) => Array.isArray(value) && value.every(isText),
    typ: isText,
  },
  required: ["issuer"],
  unique: { issuer: "issuer" },
  read: (issuer, context) =>
    conflictIn(issuer) ??
      (issuer.secret === undefined ? issuer : withSecret(issuer, issuer.secret, context)),
});

/** Returns the issuers, in which `***` replaces secrets, keys and the query of URLs. */
export function redactedIssuers(issuers: readonly JwtIssuer[]): readonly JwtIssuer[] {
  return issuers.map((issuer) => ({
    ...issuer,
    ...(issuer.secret === undefined ? {} : { secret: "***" }),
    ...(issuer.keys === undefined ? {} : { keys: { keys: [] } }),
    ...(issuer.jwks_url === undefined
      ? {}
      : { jwks_url: issuer.jwks_url.replace(/[?#].*$/s, "?***") }),
  }));
}

function conflictIn({ issuer, jwks_url, secret, keys, ...rules }: JwtIssuer): string | null {
  const sources = [jwks_url, secret, keys].filter((source) => source !== undefined);
  if (sources.length > 1) return "expected one of jwks_url, secret and keys";
  if (sources.length === 0 && !isKeyUrl(issuer)) {
    return "without keys, issuer must be an https URL for OIDC Discovery";
  }
  const { role, roles, role_claim, allowed_roles } = rules;
  if (role !== undefined && (roles !== undefined || role_claim !== undefined)) {
    return "role excludes role_claim and roles";
  }
  if (role === undefined && roles === undefined && allowed_roles === undefined) {
    return "allowed_roles is required without roles and role";
  }
  return null;
}

function withSecret(issuer: JwtIssuer, secret: string, context: CodecContext): JwtIssuer | string {
  const content = secret.startsWith("@")
    ? readNamedFile(secret.slice(1), context.readFile)
    : accept(new TextEncoder().encode(secret));
  if (content.kind !== "value") return content.kind === "problem" ? content.problem : "";
  const bytes = withoutLastLineFeed(content.value);
  if (bytes.length < minSecretBytes) return `secret must have at least ${minSecretBytes} bytes`;
  return { ...issuer, secret: new TextDecoder().decode(bytes) };
}
