/** Checks the registered claims of a token, and writes the claims for the database. @module */
import { errors } from "../../base/errors/catalogue.ts";
import type { Claims, VerifiedToken } from "./jwt.ts";

type TimeRule = (time: number, checks: ClaimChecks) => boolean;

const isPast: TimeRule = (time, { now, skewSeconds }) => time < now - skewSeconds;
const isFuture: TimeRule = (time, { now, skewSeconds }) => time > now + skewSeconds;

/** Time claims, each with the condition under which a token is invalid. */
const timeRules = [
  { claim: "exp", isViolated: isPast, message: "JWT expired" },
  { claim: "nbf", isViolated: isFuture, message: "JWT not yet valid" },
  { claim: "iat", isViolated: isFuture, message: "JWT issued at future" },
] as const;

export interface ClaimChecks {
  /** Seconds since 1970, UTC. */
  readonly now: number;
  /** Tolerated difference between clocks, in seconds. */
  readonly skewSeconds: number;
  /** The audience that tokens must name; null for any. */
  readonly jwtAud: string | null;
}

/**
 * Checks `exp`, `nbf`, `iat` and `aud` (RFC 7519, section 4.1) in this order. Throws
 * `errors.invalidClaims` for the first invalid claim.
 *
 * - An absent or null claim is valid.
 * - Clocks may differ by `skewSeconds`; fractions of seconds are dropped.
 * - `aud` must be a string or an array of strings, and must name `jwtAud` if that is set. An empty
 *   array matches any audience.
 */
export function checkClaims(claims: Claims, checks: ClaimChecks): void {
  for (const { claim, isViolated, message } of timeRules) {
    const time = claims[claim] ?? null;
    if (time === null) continue;
    if (typeof time !== "number") {
      throw errors.invalidClaims(`The JWT '${claim}' claim must be a number`);
    }
    if (isViolated(Math.floor(time), checks)) throw errors.invalidClaims(message);
  }
  checkAudience(claims.aud ?? null, checks.jwtAud);
}

function checkAudience(aud: unknown, audience: string | null): void {
  if (aud === null) return;
  const named = typeof aud === "string" ? [aud] : aud;
  if (!Array.isArray(named) || !named.every((name) => typeof name === "string")) {
    throw errors.invalidClaims("The JWT 'aud' claim must be a string or an array of strings");
  }
  if (audience !== null && named.length > 0 && !named.includes(audience)) {
    throw errors.invalidClaims("JWT not in audience");
  }
}

/** Names the tenant that a service serves. */
export interface TenantRule {
  readonly name: string;
  /** Returns the claim that must contain the tenant's name; null if tokens need none. */
  readonly claimOf: ((claims: Claims) => unknown) | null;
}

/** Throws `319` unless the claims name the tenant. */
export function checkTenant(claims: Claims, { name, claimOf }: TenantRule): void {
  if (claimOf !== null && claimOf(claims) !== name) throw errors.foreignToken();
}

/**
 * Returns the text of the claims with `role` as the only member of that name. All other text is
 * unchanged. `json` must be an object that `JSON.parse` accepts.
 *
 * ```ts
 * import { strictEqual } from "node:assert/strict";
 *
 * strictEqual(claimsWithRole('{"role":1,"n":1.50}', "web"), '{"n":1.50,"role":"web"}');
 * ```
 */
export function claimsWithRole(json: string, role: string): string {
  const members = topLevelMembers(json);
  const roles = members.filter(({ name }) => name === "role");
  if (
    roles.length === 1 && roles[0]?.value.startsWith('"') && JSON.parse(roles[0].value) === role
  ) {
    return json;
  }
  const rest = members.filter(({ name }) => name !== "role").map(({ text }) => text);
  return `{${[...rest, `"role":${JSON.stringify(role)}`].join(",")}}`;
}

/** Returns a top-level claim as text: strings as they are, other values as their JSON text, in
 * which numbers keep every digit. Returns null for an absent or null claim. */
export function claimText(
  { claims, json }: Pick<VerifiedToken, "claims" | "json">,
  name: string,
): string | null {
  const value = Object.hasOwn(claims, name) ? claims[name] ?? null : null;
  if (value === null || typeof value === "string") return value;
  // Of members with the same name, the last one applies.
  return topLevelMembers(json).findLast((member) => member.name === name)?.value ?? null;
}

/** A member of a JSON object, as text. */
interface JsonMember {
  readonly name: string;
  readonly value: string;
  readonly text: string;
}

/** Splits the text of a well-formed JSON object into its members. */
function topLevelMembers(json: string): readonly JsonMember[] {
  const members: JsonMember[] = [];
  let at = json.indexOf("{") + 1;
  while (true) {
    const start = json.indexOf('"', at);
    // The first quote after a comma opens a name. Without a quote, the object is empty: `{}`.
    if (start === -1) return members;
    const nameEnd = stringEnd(json, start);
    const colon = json.indexOf(":", nameEnd);
    const end = valueEnd(json, colon + 1);
    members.push({
      name: JSON.parse(json.slice(start, nameEnd)),
      value: json.slice(colon + 1, end).trim(),
      text: json.slice(start, end).trim(),
    });
    at = end;
  }
}

/** Returns the position after the string that opens at `start`. */
function stringEnd(json: string, start: number): number {
  let at = start + 1;
  while (json[at] !== '"') at += json[at] === "\\" ? 2 : 1;
  return at + 1;
}

/** Returns the position of the comma or brace that ends the value at `start`. */
function valueEnd(json: string, start: number): number {
  let depth = 0;
  let at = start;
  while (true) {
    const character = json[at];
    if (character === '"') {
      at = stringEnd(json, at);
      continue;
    }
    if (depth === 0 && (character === "," || character === "}")) return at;
    if (character === "{" || character === "[") depth++;
    if (character === "}" || character === "]") depth--;
    at++;
  }
}
