/** The rules of an issuer in `jwt-issuers`: which tokens it may issue, and which role they get. @module */
import { errors } from "../../base/errors/catalogue.ts";
import type { JwtIssuer } from "../config/jwt_issuers.ts";
import { isJsonObject } from "../../base/lib/json_object.ts";
import type { Claims, TokenHeader, VerifiedToken } from "./jwt.ts";
import { algorithms, AuthSettingError, isSymmetric } from "./keys.ts";
import { parseRolePath, roleOf, type RolePath, roleText } from "./role_claim.ts";

export interface IssuerRules {
  readonly algorithms: ReadonlySet<string>;
  /** Null for any audience that `jwt-aud` accepts. */
  readonly audiences: readonly string[] | null;
  /** In lower case; null for any. */
  readonly typ: string | null;
  readonly require: readonly string[];
  /** Required claims, with the permitted values of each claim. */
  readonly requiredClaims: readonly (readonly [claim: string, values: readonly unknown[]])[];
  readonly role: RoleRule;
  /** Null for any role. */
  readonly allowedRoles: ReadonlySet<string> | null;
}

/**
 * How the tokens of an issuer get their role. `path` is null for the path of `jwt-role-claim-key`.
 */
export type RoleRule =
  | { readonly kind: "fixed"; readonly role: string }
  | { readonly kind: "claim"; readonly path: RolePath | null }
  | {
    readonly kind: "map";
    readonly path: RolePath | null;
    /** Roles by the text of the claim's value; `*` matches all other values. */
    readonly roles: ReadonlyMap<string, string>;
  };

/** Prepares the rules of an issuer. Rejects with `AuthSettingError` for a role path or algorithm. */
export async function prepareRules(issuer: JwtIssuer): Promise<IssuerRules> {
  const { audience, typ, required_claims: required = {}, allowed_roles } = issuer;
  return {
    algorithms: algorithmsOf(issuer),
    audiences: audience === undefined ? null : typeof audience === "string" ? [audience] : audience,
    typ: typ === undefined ? null : mediaType(typ),
    require: issuer.require ?? ["exp"],
    requiredClaims: Object.entries(required).map(([claim, value]) => [
      claim,
      Array.isArray(value) ? value : [value],
    ]),
    role: await roleRule(issuer),
    allowedRoles: allowed_roles === undefined ? null : new Set(allowed_roles),
  };
}

function algorithmsOf({ issuer, algorithms: names, secret }: JwtIssuer): ReadonlySet<string> {
  if (names === undefined) {
    if (secret !== undefined) return new Set(["HS256"]);
    return new Set(Array.from(algorithms).filter((name) => !isSymmetric(name)));
  }
  const unknown = names.find((name) => !algorithms.has(name));
  if (unknown === undefined) return new Set(names);
  const problem = `${issuer}: algorithms: ${JSON.stringify(unknown)} is not supported`;
  throw new AuthSettingError(problem, "jwt-issuers");
}

async function roleRule({ issuer, role, roles, role_claim: path }: JwtIssuer): Promise<RoleRule> {
  if (role !== undefined) return { kind: "fixed", role };
  const parsed = path === undefined ? null : await parseClaimPath(path, issuer);
  if (roles === undefined) return { kind: "claim", path: parsed };
  return { kind: "map", path: parsed, roles: new Map(Object.entries(roles)) };
}

async function parseClaimPath(path: string, issuer: string): Promise<RolePath> {
  try {
    return await parseRolePath(path);
  } catch (error) {
    if (!(error instanceof AuthSettingError)) throw error;
    throw new AuthSettingError(`${issuer}: role_claim: ${error.message}`, "jwt-issuers");
  }
}

/** Throws `errors.issuerRuleViolated` unless the issuer may sign with the token's algorithm. */
export function checkAlgorithm({ alg }: TokenHeader, rules: IssuerRules | null): void {
  if (rules !== null && !rules.algorithms.has(alg)) throw errors.issuerRuleViolated("algorithms");
}

/** Throws `errors.issuerRuleViolated` for the first rule that a token violates. */
export function checkRules({ header, claims }: VerifiedToken, rules: IssuerRules): void {
  const { typ, audiences, require: presentClaims, requiredClaims } = rules;
  if (typ !== null && (header.typ === null || mediaType(header.typ) !== typ)) {
    throw errors.issuerRuleViolated("typ");
  }
  if (audiences !== null && !audiencesOf(claims).some((name) => audiences.includes(name))) {
    throw errors.issuerRuleViolated("audience");
  }
  if (presentClaims.some((claim) => claimOf(claims, claim) === undefined)) {
    throw errors.issuerRuleViolated("require");
  }
  for (const [claim, values] of requiredClaims) {
    const value = claimOf(claims, claim);
    if (!values.some((expected) => isSameJson(expected, value))) {
      throw errors.issuerRuleViolated("required_claims");
    }
  }
}

/** Returns a `typ` in lower case without `application/` (RFC 7515, section 4.1.9). */
function mediaType(typ: string): string {
  return typ.toLowerCase().replace(/^application\//, "");
}

/** Returns the audiences of a token. Values other than texts were rejected by the verification. */
function audiencesOf({ aud }: Claims): readonly string[] {
  return Array.isArray(aud) ? aud : typeof aud === "string" ? [aud] : [];
}

/** Returns a claim; undefined if it is absent or null. */
function claimOf(claims: Claims, name: string): unknown {
  return Object.hasOwn(claims, name) ? claims[name] ?? undefined : undefined;
}

function isSameJson(one: unknown, other: unknown): boolean {
  if (Array.isArray(one)) {
    return Array.isArray(other) && one.length === other.length &&
      one.every((item, index) => isSameJson(item, other[index]));
  }
  if (!isJsonObject(one)) return one === other;
  const names = Object.keys(one);
  return isJsonObject(other) && names.length === Object.keys(other).length &&
    names.every((name) => Object.hasOwn(other, name) && isSameJson(one[name], other[name]));
}

/** Returns the role that an issuer assigns to a token, or null. `usualPath` is the path of
 * `jwt-role-claim-key`. Throws if `..` in the path exceeds its maximum depth. */
export function issuedRole(claims: Claims, rule: RoleRule, usualPath: RolePath): string | null {
  if (rule.kind === "fixed") return rule.role;
  const path = rule.path ?? usualPath;
  return rule.kind === "claim" ? roleOf(claims, path) : mappedRole(path.find(claims), rule.roles);
}

/** Returns the role for a claim's value. For a list, the first value with a role applies. Null and
 * an empty list have no role. */
function mappedRole(value: unknown, roles: ReadonlyMap<string, string>): string | null {
  const values: readonly unknown[] = Array.isArray(value) ? value : [value ?? null];
  const texts = values.filter((one) => one !== null).map(roleText);
  if (texts.length === 0) return null;
  const named = texts.find((text) => text !== "*" && roles.has(text));
  return (named === undefined ? roles.get("*") : roles.get(named)) ?? null;
}
