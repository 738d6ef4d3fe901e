/** The identity of a request in this process, whose role and claims are given without a token. @module */
import { parseJsonObject } from "../lib/json_object.ts";
import { claimsWithRole } from "./claims.ts";
import type { Identity } from "./jwt_cache.ts";

/**
 * Returns the identity of a caller. `claims` is the text of a JSON object. Throws an `Error` if the role or
 * the claims are invalid.
 */
export function callerIdentity(
  { role, claims }: Pick<Identity, "role" | "claims">,
  { dbAnonRole }: { readonly dbAnonRole: string | null },
): Identity {
  if (["", "none"].includes(role) || role.includes("\0") || !role.isWellFormed()) {
    throw new Error(`cannot become the role ${JSON.stringify(role)}`);
  }
  if (parseJsonObject(claims) === null) throw new Error("expected claims as a JSON object");
  return { role, authenticated: role !== dbAnonRole, claims: claimsWithRole(claims, role) };
}
