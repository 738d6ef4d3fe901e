/** The identity of a request in this process, whose role and claims are given without a token. @module */
import { claimsWithRole } from "./claims.ts";
import type { Identity } from "./jwt_cache.ts";

/** A role, and claims as JSON text. */
export interface RoleClaims {
  readonly role: string;
  /** A JSON object. Default: `{}`. */
  readonly claims?: string | undefined;
}

/** Returns the identity of a caller. Throws an `Error` if the role or the claims are invalid. */
export function callerIdentity(
  { role, claims = "{}" }: RoleClaims,
  { dbAnonRole }: { readonly dbAnonRole: string | null },
): Identity {
  if (role === "" || role === "none" || role.includes("\0") || !role.isWellFormed()) {
    throw new Error(`cannot become the role ${JSON.stringify(role)}`);
  }
  if (!isObject(claims)) throw new Error("expected claims as a JSON object");
  return {
    role,
    authenticated: role !== dbAnonRole,
    claims: claimsWithRole(claims, role),
  };
}

function isObject(json: string): boolean {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === "object" && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}
