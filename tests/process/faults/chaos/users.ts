/** The users of the chaos run: several roles, many subjects. @module */
import type { Random } from "../../../support/timing/random.ts";
import { signToken } from "../../../support/handler/token.ts";

/** Number of subjects: `s0`, `s1` … */
export const subjects = 200;

/** The roles that tokens name. */
export const roles = ["writer", "clerk", "auditor"] as const;

export type Role = "anon" | (typeof roles)[number];

/** A role, and the subject of its token; null for the anonymous user. */
export interface User {
  readonly role: Role;
  readonly sub: string | null;
  /** Number of the subject; null for the anonymous user. */
  readonly number: number | null;
  /** The token; null for the anonymous user. */
  readonly token: string | null;
}

const anonymous: User = { role: "anon", sub: null, number: null, token: null };

/** Signs a token for each role of each subject. */
export async function signUsers(): Promise<readonly User[]> {
  const numbers = Array.from({ length: subjects }, (_, number) => number);
  const pairs = roles.flatMap((role) => numbers.map((number) => ({ role, number })));
  return await Promise.all(pairs.map(async ({ role, number }): Promise<User> => {
    const sub = `s${number}`;
    return { role, sub, number, token: await signToken({ role, sub }) };
  }));
}

/** Picks a user; one of eight is anonymous. */
export function pickUser(users: readonly User[], random: Random): User {
  return random.below(8) === 0 ? anonymous : random.pick(users);
}
