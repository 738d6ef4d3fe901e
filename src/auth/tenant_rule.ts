/** The rule that a token is for one tenant. @module */
import { errors } from "../errors/catalogue.ts";
import type { Claims } from "./jwt.ts";

/** The tenant whose requests a service serves. */
export interface TenantRule {
  readonly name: string;
  /** Returns the claim that must be the name; null if tokens need none. Throws for claims too deep. */
  readonly claimOf: ((claims: Claims) => unknown) | null;
}

/** Throws `319` unless the claims name the tenant. */
export function checkTenant(claims: Claims, { name, claimOf }: TenantRule): void {
  if (claimOf !== null && valueOf(claims, claimOf) !== name) throw errors.foreignToken();
}

function valueOf(claims: Claims, claimOf: (claims: Claims) => unknown): unknown {
  try {
    return claimOf(claims);
  } catch {
    return undefined;
  }
}
