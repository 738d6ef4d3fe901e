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
import { type GrammarFailure, GrammarProblem, GrammarReader, problemOr } from "./grammar_reader.ts";

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
  | GrammarFailure;

/** More policies would make each request slow. */
const maxPolicies = 32;
/** The table of arrival times counts microseconds in 44 bits. */
const maxWindowSeconds = 30 * 86_400;
/** Shorter intervals between requests round to whole microseconds too coarsely. */
const maxRatePerSecond = 100_000;

/** Reads the text of `rate-limits`. */
export function readRateLimits(text: string): RateLimitReading {
  return problemOr(() => ({ kind: "policies", policies: new PolicyReader(text).policies() }));
}

const windowUnits: ReadonlyMap<string, number> = new Map([
  ["s", 1],
  ["m", 60],
  ["h", 3600],
  ["d", 86_400],
]);

const keyKinds: ReadonlySet<string> = new Set(["ip", "role", "token", "all"]);

class PolicyReader extends GrammarReader {
  /** `policies = policy *( ";" policy )` */
  policies(): readonly RateLimitPolicy[] {
    const policies: RateLimitPolicy[] = [];
    do {
      this.skipSpace();
      if (policies.length > 0 && this.isAtEnd) break;
      const start = this.at;
      const policy = this.#policy();
      if (policies.some(({ name }) => name === policy.name)) {
        throw new GrammarProblem(start, "a name that no other policy has");
      }
      if (policies.length === maxPolicies) {
        throw new GrammarProblem(start, `at most ${maxPolicies} policies`);
      }
      policies.push(policy);
    } while (this.takes(";"));
    if (!this.isAtEnd) throw this.problem('";"');
    return policies;
  }

  #policy(): RateLimitPolicy {
    const name = this.match(/[A-Za-z][A-Za-z0-9_-]*/y, "a policy's name");
    this.take(":");
    const start = this.at;
    const count = this.#count();
    this.take("/");
    const windowSeconds = this.#window();
    const burst = this.takesWord("burst") ? this.#count() : count;
    checkRate(this.startOf(start), { count, windowSeconds, burst });
    if (!this.takesWord("by")) throw this.problem('"burst" or "by"');
    const by = this.#key();
    const roles = this.takesWord("for") ? this.#roles() : null;
    const place = this.takesWord("on") ? this.#place() : { method: null, path: "/" };
    return { name, count, windowSeconds, burst, by, roles, ...place };
  }

  #count(): number {
    const start = this.at;
    const count = Number(this.match(/[0-9]+/y, "a number of requests"));
    if (count < 1 || count > 1e9) {
      throw new GrammarProblem(this.startOf(start), "a number from 1 to 1000000000");
    }
    return count;
  }

  #window(): number {
    const start = this.at;
    const text = this.match(/[0-9]+[smhd]/y, 'a time such as "10s", "1m", "1h" or "1d"');
    const seconds = Number(text.slice(0, -1)) * windowUnits.get(text.slice(-1))!;
    if (seconds < 1 || seconds > maxWindowSeconds) {
      throw new GrammarProblem(this.startOf(start), 'a time from "1s" to "30d"');
    }
    return seconds;
  }

  #key(): RateLimitKey {
    this.skipSpace();
    if (this.text[this.at] === "$") return { kind: "claim", path: this.#jsonPath() };
    const start = this.at;
    const word = this.match(/[a-z]+/y, keyExpected);
    if (!keyKinds.has(word)) throw new GrammarProblem(start, keyExpected);
    return { kind: word as "ip" };
  }

  /** Reads to the first blank or semicolon outside of brackets and quotes. */
  #jsonPath(): string {
    const start = this.at;
    let depth = 0;
    let quote = "";
    for (; !this.isAtEnd; this.at++) {
      const character = this.text[this.at]!;
      if (quote !== "") {
        if (character === "\\") this.at++;
        else if (character === quote) quote = "";
      } else if (character === '"' || character === "'") quote = character;
      else if ("[(".includes(character)) depth++;
      else if ("])".includes(character)) depth--;
      else if (depth <= 0 && /[\s;]/.test(character)) break;
    }
    return this.text.slice(start, this.at);
  }

  #roles(): readonly string[] {
    const roles: string[] = [];
    do roles.push(this.#role()); while (this.takes(","));
    return roles;
  }

  #role(): string {
    this.skipSpace();
    if (this.text[this.at] !== '"') return this.match(/[^\s,;"]+/y, "a role");
    const quoted = this.match(/"(?:[^"]|"")+"/y, "a role in double quotes");
    return quoted.slice(1, -1).replaceAll('""', '"');
  }

  #place(): Pick<RateLimitPolicy, "method" | "path"> {
    const first = this.match(/\/[^\s;]*|[A-Za-z]+/y, 'a method or a path such as "/rpc/login"');
    if (first.startsWith("/")) return { method: null, path: first };
    const path = this.match(/\/[^\s;]*/y, 'a path such as "/rpc/login"');
    return { method: first.toUpperCase(), path };
  }
}

const keyExpected = '"ip", "role", "token", "all" or a JSONPath such as "$.sub"';

function checkRate(
  position: number,
  { count, windowSeconds, burst }: Pick<RateLimitPolicy, "count" | "windowSeconds" | "burst">,
): void {
  if (count / windowSeconds > maxRatePerSecond) {
    throw new GrammarProblem(position, `at most ${maxRatePerSecond} requests in a second`);
  }
  if (burst * windowSeconds / count > maxWindowSeconds) {
    throw new GrammarProblem(position, "a burst that refills within 30 days");
  }
}
