/**
 * The grammar of `rate-limits`:
 *
 * ```abnf
 * policies = policy *( ";" policy )
 * policy   = name ":" count "/" window [ "burst" count ] "by" by
 *            [ "for" role *( "," role ) ] [ "on" [ method ] path-prefix ]
 * by       = "ip" / "role" / "token" / "all" / JSONPath
 * window   = 1*DIGIT ( "s" / "m" / "h" / "d" )
 * name     = ALPHA *( ALPHA / DIGIT / "_" / "-" )
 * role     = word / DQUOTE text DQUOTE
 * ```
 *
 * White space separates words, and may surround `:`, `/`, `,` and `;`.
 *
 * @module
 */

/** The property that the requests of one count have in common. */
export type RateLimitKey =
  | { readonly kind: "ip" | "role" | "token" | "all" }
  /** A value of the token's claims. */
  | { readonly kind: "claim"; readonly path: string };

/** One policy: at most `count` requests in `windowSeconds` with the same key. */
export interface RateLimitPolicy {
  readonly name: string;
  readonly count: number;
  readonly windowSeconds: number;
  /** Requests that may arrive at once. */
  readonly burst: number;
  readonly by: RateLimitKey;
  /** Roles whose requests count; null for all. */
  readonly roles: readonly string[] | null;
  /** Upper-case method of the requests that count; null for all. */
  readonly method: string | null;
  /** Path, percent-encoded, under which requests count. Default: `/`. */
  readonly path: string;
}

/** The policies of a text, or the place and the kind of its first error. */
export type RateLimitReading =
  | { readonly kind: "policies"; readonly policies: readonly RateLimitPolicy[] }
  | {
    readonly kind: "problem";
    /** One-based. */
    readonly position: number;
    /** Completes "expected …". */
    readonly expected: string;
  };

/** More policies would make each request slow. */
const maxPolicies = 32;
/** The table of arrival times counts microseconds in 44 bits. */
const maxWindowSeconds = 30 * 86_400;
/** Shorter intervals between requests round to whole microseconds too coarsely. */
const maxRatePerSecond = 100_000;

/** Reads the text of `rate-limits`. */
export function readRateLimits(text: string): RateLimitReading {
  try {
    return { kind: "policies", policies: new PolicyReader(text).policies() };
  } catch (error) {
    if (!(error instanceof PolicyProblem)) throw error;
    return { kind: "problem", position: error.position + 1, expected: error.expected };
  }
}

/** The text differs from the grammar at a position, from 0. */
class PolicyProblem extends Error {
  readonly position: number;
  readonly expected: string;

  constructor(position: number, expected: string) {
    super(`expected ${expected}`);
    this.position = position;
    this.expected = expected;
  }
}

const windowUnits: ReadonlyMap<string, number> = new Map([
  ["s", 1],
  ["m", 60],
  ["h", 3600],
  ["d", 86_400],
]);

const keyKinds: ReadonlySet<string> = new Set(["ip", "role", "token", "all"]);

class PolicyReader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** `policies = policy *( ";" policy )` */
  policies(): readonly RateLimitPolicy[] {
    const policies: RateLimitPolicy[] = [];
    do {
      this.#skipSpace();
      if (policies.length > 0 && this.#isAtEnd) break;
      const start = this.#at;
      const policy = this.#policy();
      if (policies.some(({ name }) => name === policy.name)) {
        throw new PolicyProblem(start, "a name that no other policy has");
      }
      if (policies.length === maxPolicies) {
        throw new PolicyProblem(start, `at most ${maxPolicies} policies`);
      }
      policies.push(policy);
    } while (this.#takes(";"));
    if (!this.#isAtEnd) throw this.#problem('";"');
    return policies;
  }

  #policy(): RateLimitPolicy {
    const name = this.#match(/[A-Za-z][A-Za-z0-9_-]*/y, "a policy's name");
    this.#take(":");
    const start = this.#at;
    const count = this.#count();
    this.#take("/");
    const windowSeconds = this.#window();
    const burst = this.#takesWord("burst") ? this.#count() : count;
    checkRate(this.#startOf(start), { count, windowSeconds, burst });
    if (!this.#takesWord("by")) throw this.#problem('"burst" or "by"');
    const by = this.#key();
    const roles = this.#takesWord("for") ? this.#roles() : null;
    const place = this.#takesWord("on") ? this.#place() : { method: null, path: "/" };
    return { name, count, windowSeconds, burst, by, roles, ...place };
  }

  #count(): number {
    const start = this.#at;
    const count = Number(this.#match(/[0-9]+/y, "a number of requests"));
    if (count < 1 || count > 1e9) {
      throw new PolicyProblem(this.#startOf(start), "a number from 1 to 1000000000");
    }
    return count;
  }

  #window(): number {
    const start = this.#at;
    const text = this.#match(/[0-9]+[smhd]/y, 'a time such as "10s", "1m", "1h" or "1d"');
    const seconds = Number(text.slice(0, -1)) * windowUnits.get(text.slice(-1))!;
    if (seconds < 1 || seconds > maxWindowSeconds) {
      throw new PolicyProblem(this.#startOf(start), 'a time from "1s" to "30d"');
    }
    return seconds;
  }

  #key(): RateLimitKey {
    this.#skipSpace();
    if (this.#text[this.#at] === "$") return { kind: "claim", path: this.#jsonPath() };
    const start = this.#at;
    const word = this.#match(/[a-z]+/y, keyExpected);
    if (!keyKinds.has(word)) throw new PolicyProblem(start, keyExpected);
    return { kind: word as "ip" };
  }

  /** Reads to the first blank or semicolon outside of brackets and quotes. */
  #jsonPath(): string {
    const start = this.#at;
    let depth = 0;
    let quote = "";
    for (; !this.#isAtEnd; this.#at++) {
      const character = this.#text[this.#at]!;
      if (quote !== "") {
        if (character === "\\") this.#at++;
        else if (character === quote) quote = "";
      } else if (character === '"' || character === "'") quote = character;
      else if ("[(".includes(character)) depth++;
      else if ("])".includes(character)) depth--;
      else if (depth <= 0 && /[\s;]/.test(character)) break;
    }
    return this.#text.slice(start, this.#at);
  }

  #roles(): readonly string[] {
    const roles: string[] = [];
    do roles.push(this.#role()); while (this.#takes(","));
    return roles;
  }

  #role(): string {
    this.#skipSpace();
    if (this.#text[this.#at] !== '"') return this.#match(/[^\s,;"]+/y, "a role");
    const quoted = this.#match(/"(?:[^"]|"")+"/y, "a role in double quotes");
    return quoted.slice(1, -1).replaceAll('""', '"');
  }

  #place(): Pick<RateLimitPolicy, "method" | "path"> {
    const first = this.#match(/\/[^\s;]*|[A-Za-z]+/y, 'a method or a path such as "/rpc/login"');
    if (first.startsWith("/")) return { method: null, path: first };
    const path = this.#match(/\/[^\s;]*/y, 'a path such as "/rpc/login"');
    return { method: first.toUpperCase(), path };
  }

  get #isAtEnd(): boolean {
    return this.#at >= this.#text.length;
  }

  #skipSpace(): void {
    this.#at = this.#startOf(this.#at);
  }

  #startOf(position: number): number {
    let at = position;
    while (at < this.#text.length && /\s/.test(this.#text[at]!)) at++;
    return at;
  }

  #match(pattern: RegExp, expected: string): string {
    this.#skipSpace();
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0];
    if (found === undefined) throw this.#problem(expected);
    this.#at += found.length;
    return found;
  }

  #takes(character: string): boolean {
    this.#skipSpace();
    if (this.#text[this.#at] !== character) return false;
    this.#at++;
    return true;
  }

  #take(character: string): void {
    if (!this.#takes(character)) throw this.#problem(`"${character}"`);
  }

  #takesWord(word: string): boolean {
    this.#skipSpace();
    const end = this.#at + word.length;
    const isWord = this.#text.slice(this.#at, end) === word &&
      !/^[^\s]/.test(this.#text.slice(end));
    if (isWord) this.#at = end;
    return isWord;
  }

  #problem(expected: string): PolicyProblem {
    this.#skipSpace();
    return new PolicyProblem(this.#at, expected);
  }
}

const keyExpected = '"ip", "role", "token", "all" or a JSONPath such as "$.sub"';

function checkRate(
  position: number,
  { count, windowSeconds, burst }: Pick<RateLimitPolicy, "count" | "windowSeconds" | "burst">,
): void {
  if (count / windowSeconds > maxRatePerSecond) {
    throw new PolicyProblem(position, `at most ${maxRatePerSecond} requests in a second`);
  }
  if (burst * windowSeconds / count > maxWindowSeconds) {
    throw new PolicyProblem(position, "a burst that refills within 30 days");
  }
}
