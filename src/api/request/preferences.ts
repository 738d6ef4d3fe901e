/** The `Prefer` request header (RFC 7240), in the simple form that PostgREST accepts. @module */
import { exactInteger } from "../../base/http/range_header.ts";
import type { Preferences } from "./api_request.ts";

type ListedName = Exclude<keyof Preferences, "timezone" | "maxAffected" | "invalid">;

/** Values of the preferences that have a fixed list of values. */
type Listed = { -readonly [Name in ListedName]: Preferences[Name] };

const values: { readonly [Name in ListedName]: readonly NonNullable<Preferences[Name]>[] } = {
  resolution: ["merge-duplicates", "ignore-duplicates", "return-existing"],
  return: ["representation", "minimal", "headers-only"],
  count: ["exact", "planned", "estimated"],
  tx: ["commit", "rollback"],
  missing: ["default", "null"],
  handling: ["strict", "lenient"],
  unmatched: ["fail", "ignore"],
  read: ["primary"],
  maxRows: ["fail"],
};

/** Preferences by their token in the header. */
const tokens: ReadonlyMap<string, Partial<Listed>> = new Map(
  Object.entries(values).flatMap(([name, each]) =>
    each.map((value) => [`${preferenceName(name)}=${value}`, { [name]: value }] as const)
  ),
);

/** Returns the name of a preference, as in the header: `max-rows`. */
export function preferenceName(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

const timezonePrefix = "timezone=";
export const maxAffectedPrefix = "max-affected=";

export const nothingPreferred: Preferences = {
  resolution: null,
  return: null,
  count: null,
  tx: null,
  missing: null,
  handling: null,
  timezone: null,
  maxAffected: null,
  unmatched: null,
  read: null,
  maxRows: null,
  invalid: [],
};

/**
 * Parses the header, whose lines are joined by commas. Tokens are compared exactly. If a preference
 * is repeated, its first token applies. Unknown tokens are listed as invalid, and so are unknown
 * values, except time zones.
 */
export function parsePreferences(header: string | null): Preferences {
  if (header === null || header.trim() === "") return nothingPreferred;
  let listed: Partial<Listed> = {};
  let timezone: string | null = null;
  let maxAffected: number | null = null;
  const invalid: string[] = [];
  for (const token of header.split(",").map((piece) => piece.trim())) {
    const preference = tokens.get(token) ?? readCountBound(token);
    if (preference !== undefined) listed = { ...preference, ...listed };
    else if (token.startsWith(timezonePrefix)) timezone ??= token.slice(timezonePrefix.length);
    else {
      const count = token.startsWith(maxAffectedPrefix)
        ? parseCount(token.slice(maxAffectedPrefix.length))
        : null;
      if (count === null) invalid.push(token);
      maxAffected ??= count;
      listed = { ...otherSpelling(token), ...listed };
    }
  }
  return {
    ...nothingPreferred,
    ...listed,
    timezone,
    maxAffected,
    invalid,
  };
}

/**
 * Recognises other spellings of preferences that protect rows: with parameters, quotes, spaces and
 * capitals (RFC 7240, section 2). So any spelling of `handling=strict` rejects the request, and any
 * spelling of `tx=rollback` rolls back.
 */
function otherSpelling(token: string): Partial<Listed> {
  if (/^handling\s*=\s*"?strict\b/i.test(token)) return { handling: "strict" };
  return /^tx\s*=\s*"?rollback\b/i.test(token) ? { tx: "rollback" } : {};
}

/** Parses `count=exact-<number>`; undefined for other tokens. */
function readCountBound(token: string): Partial<Listed> | undefined {
  const digits = /^count=exact-(0|[1-9][0-9]{0,14})$/.exec(token)?.[1];
  return digits === undefined ? undefined : { count: `exact-${Number(digits)}` };
}

function parseCount(text: string): number | null {
  const digits = text.trim();
  return /^-?[0-9]+$/.test(digits) ? exactInteger(digits) : null;
}
