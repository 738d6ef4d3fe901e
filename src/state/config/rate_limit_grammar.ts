/**
 * The grammar of `rate-limits`:
 *
 * ```abnf
 * policies = policy *( ";" policy ) [ ";" ]
 * policy   = name ":" count "/" window [ "burst" count ] "by" by
 *            [ "for" role *( "," role ) ] [ "on" [ method ] path-prefix ]
 * by       = "ip" / "role" / "token" / "key" / "all" / JSONPath
 * window   = 1*DIGIT ( "s" / "m" / "h" / "d" )
 * name     = ALPHA *( ALPHA / DIGIT / "_" / "-" )
 * role     = word / DQUOTE text DQUOTE
 * ```
 *
 * White space separates words, and may surround `:`, `/`, `,` and `;`.
 *
 * @module
 */

/** The property by which a policy counts requests. */
export type RateLimitKey =
  | { readonly kind: "ip" | "role" | "token" | "key" | "all" }
  /** A value of the token's claims. */
  | { readonly kind: "claim"; readonly path: string };

/** One policy: at most `count` requests in `windowSeconds` with the same key. */
export interface RateLimitPolicy {
  readonly name: string;
  readonly count: number;
  readonly windowSeconds: number;
  /** Number of requests that may arrive at once. */
  readonly burst: number;
  readonly by: RateLimitKey;
  /** Roles to which the policy applies; null for all. */
  readonly roles: readonly string[] | null;
  /** Method to which the policy applies, in upper case; null for all. */
  readonly method: string | null;
  /** Path prefix to which the policy applies, percent-encoded. Default: `/`. */
  readonly path: string;
}

export type RateLimitReading =
  | { readonly kind: "policies"; readonly policies: readonly RateLimitPolicy[] }
  | { readonly kind: "problem"; readonly problem: string };

/** Maximum number of policies. More would make each request slow. */
const maxPolicies = 32;
const maxCount = 1e9;
const maxWindowSeconds = 30 * 86_400;
/**
 * Maximum rate. Intervals are rounded to whole microseconds, which is too coarse for higher rates.
 */
const maxRatePerSecond = 100_000;

const unitSeconds: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };

const role = String.raw`(?:"(?:[^"]|"")+"|[^\s,;"]+)`;
const quotedText = String.raw`"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'`;
const inBrackets = String.raw`\[(?:${quotedText}|\[[^\]"']*\]|[^\[\]"'])*\]`;
const jsonPath = String.raw`\$(?:${quotedText}|${inBrackets}|[^\s;"'\[])*`;

/** Matches one policy and the semicolon after it. */
const policyPattern = new RegExp(
  String.raw`\s*(?<name>[A-Za-z][\w-]*)\s*:\s*(?<count>\d+)\s*/\s*(?<time>\d+)(?<unit>[smhd])` +
    String.raw`(?:\s+burst\s+(?<burst>\d+))?` +
    String.raw`\s+by\s+(?:(?<kind>ip|role|token|key|all)|(?<claim>${jsonPath}))` +
    String.raw`(?:\s+for\s+(?<roles>${role}(?:\s*,\s*${role})*))?` +
    String.raw`(?:\s+on\s+(?:(?<method>[A-Za-z]+)\s+)?(?<path>/[^\s;]*))?\s*(?:;\s*|$)`,
  "suy",
);

export function readRateLimits(text: string): RateLimitReading {
  const policies: RateLimitPolicy[] = [];
  for (let at = 0; at < text.length || at === 0; at = policyPattern.lastIndex) {
    policyPattern.lastIndex = at;
    const groups = policyPattern.exec(text)?.groups;
    const policy = groups === undefined ? null : policyOf(groups);
    const problem = policy === null
      ? "expected name: count/time [burst count] by what [for role, …] [on [method] path]"
      : problemOf(policy, policies);
    if (problem !== null) {
      return { kind: "problem", problem: `policy ${policies.length + 1}: ${problem}` };
    }
    policies.push(policy!);
  }
  return { kind: "policies", policies };
}

function policyOf(groups: Readonly<Record<string, string | undefined>>): RateLimitPolicy {
  const { name, count, time, unit, burst = count, kind, claim, roles, method, path = "/" } = groups;
  return {
    name: name!,
    count: Number(count),
    windowSeconds: Number(time) * unitSeconds[unit!]!,
    burst: Number(burst),
    by: claim === undefined ? { kind: kind as "ip" } : { kind: "claim", path: claim },
    roles: roles?.match(new RegExp(role, "g"))?.map(unquoted) ?? null,
    method: method?.toUpperCase() ?? null,
    path,
  };
}

function unquoted(name: string): string {
  return name.startsWith('"') ? name.slice(1, -1).replaceAll('""', '"') : name;
}

function problemOf(
  { name, count, windowSeconds, burst }: RateLimitPolicy,
  others: readonly RateLimitPolicy[],
): string | null {
  const isCount = (number: number) => number >= 1 && number <= maxCount;
  if (others.some((other) => other.name === name)) {
    return "expected a name that no other policy has";
  }
  if (others.length === maxPolicies) return `expected at most ${maxPolicies} policies`;
  if (!isCount(count) || !isCount(burst)) return `expected a number from 1 to ${maxCount}`;
  if (windowSeconds < 1 || windowSeconds > maxWindowSeconds) {
    return 'expected a time from "1s" to "30d"';
  }
  if (count / windowSeconds > maxRatePerSecond) {
    return `expected at most ${maxRatePerSecond} requests in a second`;
  }
  if (burst * windowSeconds / count > maxWindowSeconds) {
    return "expected a burst that refills within 30 days";
  }
  return null;
}
