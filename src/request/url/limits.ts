/** The values of `limit` and `offset`. @module */
import { levelKey, levelOf } from "./name_grammar.ts";
import type { ValuedParam } from "./query_string.ts";
import type { QueryParams } from "./query_types.ts";

type Limits = Pick<QueryParams, "limits" | "limit" | "offset" | "hasLimits" | "ignoredLimit">;

interface Level {
  readonly path: readonly string[];
  limit: bigint | null;
  offset: bigint | null;
}

/** Reads parameters whose names end in `limit` or `offset`; the last of a level counts. */
export function readLimits(params: readonly ValuedParam[]): Limits {
  if (params.length === 0) return noLimits;
  const levels = new Map<string, Level>();
  let ignoredLimit: string | undefined;
  for (const { name, value } of params) {
    const path = levelOf(name);
    const key = levelKey(path);
    const level = levels.get(key) ?? { path, limit: null, offset: null };
    const count = readCount(value);
    if (count === null) ignoredLimit = name;
    level[name.endsWith("limit") ? "limit" : "offset"] = count;
    levels.set(key, level);
  }
  const { limit = null, offset = null } = levels.get("") ?? {};
  const limits = [...levels.values()]
    .filter(({ path }) => path.length > 0)
    .map(({ path, limit, offset }) => ({ path, value: { limit, offset } }));
  return { limits, limit, offset, hasLimits: true, ...(ignoredLimit && { ignoredLimit }) };
}

const noLimits: Limits = { limits: [], limit: null, offset: null, hasLimits: false };

/** More digits are refused by PostgreSQL, whatever they are. Reading them all would take long. */
const maxDigits = 1000;

/** An integer with blanks around it, of any size; null for any other text. */
function readCount(text: string): bigint | null {
  const digits = text.trim();
  if (!/^-?[0-9]+$/.test(digits)) return null;
  return BigInt(digits.replace(/^(-?)0+(?=[0-9])/, "$1").slice(0, maxDigits));
}
