/**
 * Texts with placeholders, which are replaced for each request of a load: `{1..100}` by a random number
 * of that range, `{user}` by the number of a random user, and `{token}` by the token of the same user.
 *
 * @module
 */

/** A user of the service. */
export interface User {
  readonly number: number;
  /** Claims of the token, as JSON text. */
  readonly claims: string;
  readonly token: string;
}

/** A random choice. */
export interface Draw {
  /** A number from 0 to below 1, which selects the numbers of ranges. */
  readonly chance: number;
  /** Null in a case without users. */
  readonly user: User | null;
}

const placeholder = /\{(?:(\d+)\.\.(\d+)|user|token)\}/g;

/** Returns a text with its placeholders filled. */
export function fillTemplate(text: string, { chance, user }: Draw): string {
  return text.replace(placeholder, (found, first?: string, last?: string) => {
    if (first !== undefined) {
      return String(Number(first) + Math.floor(chance * (Number(last) - Number(first) + 1)));
    }
    return found === "{user}" ? String(user?.number ?? "") : user?.token ?? "";
  });
}

/** A constant text, or a Lua expression that returns a text. */
export type TemplatePart =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "expression"; readonly lua: string };

/** Splits a text at its placeholders. The expressions need `users`, `tokens` and an index `user`. */
export function templateParts(text: string): readonly TemplatePart[] {
  const parts: TemplatePart[] = [];
  let end = 0;
  for (const match of text.matchAll(placeholder)) {
    parts.push({ kind: "text", text: text.slice(end, match.index) });
    parts.push({ kind: "expression", lua: luaOf(match) });
    end = match.index + match[0].length;
  }
  return [...parts, { kind: "text", text: text.slice(end) }];
}

function luaOf([found, first, last]: RegExpMatchArray): string {
  if (first !== undefined) return `math.random(${first}, ${last})`;
  return found === "{user}" ? "users[user]" : "tokens[user]";
}

/** Returns a random draw. */
export function drawAtRandom(users: readonly User[] | undefined): Draw {
  return drawOf(users, { chance: Math.random(), userChance: Math.random() });
}

/** Returns draws that are spread over the range and the users. Each call returns the same draws. */
export function spreadDraws(users: readonly User[] | undefined, count: number): readonly Draw[] {
  return Array.from({ length: count }, (_, index) => {
    const chance = index / count;
    return drawOf(users, { chance, userChance: chance });
  });
}

function drawOf(
  users: readonly User[] | undefined,
  { chance, userChance }: { readonly chance: number; readonly userChance: number },
): Draw {
  return { chance, user: users?.[Math.floor(userChance * users.length)] ?? null };
}
