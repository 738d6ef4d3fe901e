/** The list of revoked tokens. @module */
import { claimText } from "./claims.ts";
import type { VerifiedToken } from "./jwt.ts";
import { getOrMake } from "../../base/lib/group_by.ts";

/** One row of the list. It revokes the tokens whose claim has a certain value. */
export interface Revocation {
  readonly claim: string;
  readonly value: string;
  /** Revokes only tokens that were issued at this time or earlier, in epoch seconds; null: all. */
  readonly issuedBefore: number | null;
  /** Epoch seconds at which the row expires; null for never. */
  readonly until: number | null;
}

/** Revocations by claim and value. */
export type RevocationIndex = ReadonlyMap<string, ReadonlyMap<string, readonly Revocation[]>>;

/** Indexes a list, so that a look-up takes constant time. */
export function indexRevocations(list: readonly Revocation[]): RevocationIndex {
  const index = new Map<string, Map<string, Revocation[]>>();
  for (const revocation of list) {
    const byValue = getOrMake(index, revocation.claim, () => new Map<string, Revocation[]>());
    getOrMake(byValue, revocation.value, () => []).push(revocation);
  }
  return index;
}

/** Returns whether a token is revoked at a time, in epoch seconds. Claims other than strings are
 * compared by their JSON text. A token without `iat` is treated as issued before any time. */
export function isRevoked(
  token: Pick<VerifiedToken, "claims" | "json">,
  index: RevocationIndex,
  now: number,
): boolean {
  for (const [claim, byValue] of index) {
    const text = claimText(token, claim);
    const revocations = text === null ? undefined : byValue.get(text);
    if (revocations?.some((revocation) => applies(revocation, token, now))) return true;
  }
  return false;
}

function applies(
  { issuedBefore, until }: Revocation,
  { claims: { iat } }: Pick<VerifiedToken, "claims">,
  now: number,
): boolean {
  if (until !== null && now >= until) return false;
  return issuedBefore === null || typeof iat !== "number" || Math.floor(iat) <= issuedBefore;
}
