/** The cases of the benchmark by set. @module */
import type { LoadCase } from "./load_case.ts";
import { plainCases } from "./plain_cases.ts";
import { rlsCases } from "./rls_cases.ts";
import type { User } from "./template.ts";
import { tokenCases } from "./token_cases.ts";

/** The names of the sets of cases under load. */
export const loadSets = ["plain", "token", "rls"] as const;

/** A set of cases under load. */
export type LoadSet = typeof loadSets[number];

/** Returns the cases of a set: without policies, the same with tokens, under row level security. */
export function casesOf(set: LoadSet, users: readonly User[]): readonly LoadCase[] {
  return { plain: plainCases, token: tokenCases, rls: rlsCases }[set](users);
}
