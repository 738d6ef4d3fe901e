/** Admits requests by the policies of `rate-limits`. @module */
import type { ApiKey } from "../config/api_keys.ts";
import { networkOf } from "../../base/http/client_address.ts";
import { errors } from "../../base/errors/catalogue.ts";
import type { HeaderList } from "../../base/lib/header_list.ts";
import { type ArrivalTable, decide, type Decision, type Rate } from "./gcra.ts";
import { countsMethod, isUnder, type LimitedResource } from "./resource.ts";
import type { RateLimitPolicy } from "../config/rate_limit_grammar.ts";

/** A policy that is ready for use. */
export interface PreparedPolicy extends Pick<RateLimitPolicy, "name" | "method" | "roles"> {
  readonly definition: RateLimitPolicy;
  readonly rate: Rate;
  /** Response header that describes the policy to clients. */
  readonly header: readonly [name: string, value: string];
  /** Path prefix to which the policy applies, in the form of {@linkcode LimitedResource}; null for all. */
  readonly under: string | null;
  /** Returns the text of a claim; null if it is absent. Null if the policy uses no claim. */
  readonly claim: ((claims: string) => string | null) | null;
}

/** The policies in the order of the configuration, and the arrival times of their keys. */
export interface RateLimits {
  /** Policies that can be checked before the token is verified. */
  readonly beforeToken: readonly PreparedPolicy[];
  /** The other policies. */
  readonly afterToken: readonly PreparedPolicy[];
  readonly table: ArrivalTable;
  /** Prefix of paths that end with a relation, such as `live-path`; null if no wing has such paths. */
  readonly relationPrefix: string | null;
}

/** The data of a request that is known before authentication. */
export interface LimitedRequest {
  readonly limits: RateLimits;
  /** Called with the name of a policy that refuses the request. */
  readonly onRefused: (policy: string) => void;
  /** Null if unknown. All such requests are counted together. */
  readonly client: string | null;
  readonly resource: LimitedResource;
}

/** The data of a request that is known after authentication. */
export interface LimitedIdentity {
  readonly role: string;
  /** JSON text. */
  readonly claims: string;
  /** Null without a token. */
  readonly token: string | null;
  /** Default: none. */
  readonly key?: Pick<ApiKey, "name">;
}

/** A policy that has admitted the request, and the amount charged. */
interface Charge {
  readonly policy: PreparedPolicy;
  readonly key: string;
  readonly decision: Decision;
}

/** The charges of one request, or of one operation of it. */
export class Admission {
  readonly #request: LimitedRequest;
  #charges: readonly Charge[] = [];
  /** Number of charges by policies that need no token. */
  #clientCharges = 0;
  #refusal: Charge | null = null;

  constructor(request: LimitedRequest) {
    this.#request = request;
  }

  /** Charges the policies that need no token. Throws `136` if one of them refuses. */
  chargeClient(): void {
    const { beforeToken } = this.#request.limits;
    if (beforeToken.length === 0) return;
    this.#charge(beforeToken, ({ definition: { by } }) => by.kind === "all" ? "" : this.#clientKey);
    this.#clientCharges = this.#charges.length;
  }

  /** Charges the other policies. Throws `136` if one of them refuses; then none is charged. */
  chargeIdentity(identity: LimitedIdentity): void {
    const { afterToken } = this.#request.limits;
    if (afterToken.length === 0) return;
    this.#charge(afterToken, (policy) => {
      if (policy.roles?.includes(identity.role) === false) return null;
      return this.#identityKey(policy, identity);
    });
  }

  /** Undoes the charges of an operation that has no effect because another operation is refused. */
  refund(): void {
    this.#refundFrom(0);
  }

  /** Undoes the charges of policies that need a token. */
  refundIdentity(): void {
    this.#refundFrom(this.#clientCharges);
  }

  #refundFrom(start: number): void {
    if (this.#charges.length <= start) return;
    const { table } = this.#request.limits;
    for (const { key, policy } of this.#charges.slice(start)) refund(table, key, policy.rate);
    this.#charges = this.#charges.slice(0, start);
  }

  /** Returns the `RateLimit` headers of the tightest matching policy; empty if none matches. */
  headers(): HeaderList {
    const charge = this.#refusal ?? this.#tightest();
    return charge === null ? noHeaders : rateLimitHeaders(charge);
  }

  #charge(
    policies: readonly PreparedPolicy[],
    keyOf: (policy: PreparedPolicy) => string | null,
  ): void {
    const { table } = this.#request.limits;
    const matched: (Pick<Charge, "policy" | "key">)[] = [];
    for (const policy of policies) {
      const text = this.#isMatched(policy) ? keyOf(policy) : null;
      if (text !== null) matched.push({ policy, key: `${policy.name}\0${text}` });
    }
    if (matched.length === 0) return;
    const { charges, refusal } = decideAll(table, matched);
    if (refusal !== null) return this.#refuse(refusal);
    for (const { key, decision } of charges) table.set(key, decision.arrival);
    this.#charges = this.#charges.length === 0 ? charges : [...this.#charges, ...charges];
  }

  #refuse(refusal: Charge): never {
    const { onRefused } = this.#request;
    this.#refusal = refusal;
    this.refund();
    onRefused(refusal.policy.name);
    throw errors.rateLimited(refusal.policy.definition, secondsOf(refusal.decision.wait));
  }

  #isMatched({ method, under }: PreparedPolicy): boolean {
    const { resource } = this.#request;
    if (method !== null && !countsMethod(method, resource.method)) return false;
    const { path, relationPath } = resource;
    return under === null || isUnder(path, under) ||
      relationPath !== null && isUnder(relationPath, under);
  }

  get #clientKey(): string {
    const { client } = this.#request;
    return client === null ? "ip" : `ip\0${networkOf(client)}`;
  }

  /** Returns the key of a request. If the request lacks the token, API key or claim, returns its address. */
  #identityKey(policy: PreparedPolicy, { role, claims, token, key }: LimitedIdentity): string {
    const { by } = policy.definition;
    switch (by.kind) {
      case "role":
        return role;
      case "key":
        return key === undefined ? this.#clientKey : `key\0${key.name}`;
      case "token":
        if (key !== undefined) return `key\0${key.name}`;
        return token === null ? this.#clientKey : `token\0${withoutSignature(token)}`;
      case "claim": {
        const value = token === null ? null : policy.claim!(claims);
        return value === null ? this.#clientKey : `claim\0${value}`;
      }
      case "ip":
        return this.#clientKey;
      case "all":
        return "";
      default:
        return by satisfies never;
    }
  }

  #tightest(): Charge | null {
    let tightest: Charge | null = null;
    for (const charge of this.#charges) {
      if (tightest === null || isTighter(charge.decision, tightest.decision)) tightest = charge;
    }
    return tightest;
  }
}

/** Decides about a request by all matching policies. */
function decideAll(
  table: ArrivalTable,
  matched: readonly Pick<Charge, "policy" | "key">[],
): { readonly charges: readonly Charge[]; readonly refusal: Charge | null } {
  const now = table.now();
  const charges: Charge[] = [];
  let refusal: Charge | null = null;
  for (const { policy, key } of matched) {
    const arrival = table.get(key);
    const decision = decide(policy.rate, arrival, now);
    const charge = { policy, key, decision };
    charges.push(charge);
    if (decision.isAdmitted) continue;
    if (decision.arrival < arrival) table.set(key, decision.arrival);
    if (refusal === null || decision.wait > refusal.decision.wait) refusal = charge;
  }
  return { charges, refusal };
}

const noHeaders: HeaderList = [];

function isTighter(one: Decision, other: Decision): boolean {
  if (one.remaining !== other.remaining) return one.remaining < other.remaining;
  return one.wait > other.wait;
}

/** Undoes the charge of one request of a key. */
function refund(table: ArrivalTable, key: string, { interval }: Rate): void {
  const arrival = table.get(key);
  if (arrival > interval) table.set(key, arrival - interval);
}

/** Returns the header fields of draft-ietf-httpapi-ratelimit-headers-10. */
function rateLimitHeaders({ policy: { name, header }, decision }: Charge): HeaderList {
  const { remaining, wait } = decision;
  return [header, ["RateLimit", `"${name}";r=${remaining};t=${secondsOf(wait)}`]];
}

function secondsOf(microseconds: number): number {
  return Math.ceil(microseconds / 1e6);
}

/** Returns the signed part of a token. The same part can have several valid signatures in some algorithms. */
function withoutSignature(token: string): string {
  return token.slice(0, token.lastIndexOf("."));
}
