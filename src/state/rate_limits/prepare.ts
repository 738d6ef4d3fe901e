/**
 * Prepares the policies of a configuration. Keeps arrival times of the previous policies. @module
 */
import { compileClaimPath, roleText } from "../auth/role_claim.ts";
import { type Config, rowsOf, valueOf } from "../config/options.ts";
import { type RateLimitPolicy, readRateLimits } from "../config/rate_limit_grammar.ts";
import { ArrivalTable, rateOf } from "./gcra.ts";
import type { PreparedPolicy, RateLimits } from "./rate_limiter.ts";
import { decodedPath } from "./resource.ts";
import { errorMessage } from "../../base/errors/error_message.ts";

/** Inputs of {@linkcode prepareRateLimits}. */
export interface RateLimitInputs {
  readonly config: Pick<Config, "rateLimits" | "wingOptions">;
  /** The limits before a reload, whose arrival times are kept. */
  readonly previous: RateLimits | null;
  /** Milliseconds since any start; never goes back. */
  readonly now: () => number;
  /** Number of threads that count requests, each with a share of the rates. */
  readonly threads: number;
}

/**
 * Returns the limits of a configuration; null without policies. Rejects with an `Error` if a JSONPath
 * is invalid.
 */
export async function prepareRateLimits(
  { config, previous, now, threads }: RateLimitInputs,
): Promise<RateLimits | null> {
  const { rateLimits: text } = config;
  const reading = text === null ? null : readRateLimits(text);
  const configured = reading?.kind === "policies" ? reading.policies : [];
  const all = withEndpoints(configured, config);
  if (all.length === 0) return null;
  const table = previous?.table ?? new ArrivalTable(now);
  const policies = await Promise.all(all.map((policy) => preparePolicy(policy, threads)));
  return {
    table,
    beforeToken: policies.filter(needsNoToken),
    afterToken: policies.filter((policy) => !needsNoToken(policy)),
    relationPrefix: endpointsOf(config).find(({ paths }) => paths === "below")?.path ?? null,
  };
}

/** Lists the endpoints of wings, with their paths. */
function endpointsOf(config: RateLimitInputs["config"]) {
  return rowsOf(config).flatMap(([key, { endpoint }]) => {
    const path = endpoint === undefined ? null : valueOf(config, key);
    return typeof path === "string" ? [{ ...endpoint!, key, path }] : [];
  });
}

/** Adds policies for the limits of endpoints, unless the configuration has a policy for the path. */
function withEndpoints(
  policies: readonly RateLimitPolicy[],
  config: RateLimitInputs["config"],
): readonly RateLimitPolicy[] {
  const added = endpointsOf(config).flatMap(({ key, path, requestsPerMinute: count }) => {
    const isLimited = policies.some((policy) => decodedPath(policy.path) === decodedPath(path));
    if (count === undefined || isLimited) return [];
    const [word = ""] = key.split("-");
    const name = policies.some((policy) => policy.name === word) ? key : word;
    const by = { kind: "token" } as const;
    return [{ name, count, windowSeconds: 60, burst: count, by, roles: null, method: null, path }];
  });
  return [...policies, ...added];
}

function needsNoToken({ definition: { by, roles } }: PreparedPolicy): boolean {
  return roles === null && (by.kind === "ip" || by.kind === "all");
}

async function preparePolicy(
  policy: RateLimitPolicy,
  threads: number,
): Promise<PreparedPolicy> {
  const { name, count, windowSeconds, burst, method, roles, path, by } = policy;
  const prefix = decodedPath(path).replace(/\/+$/, "");
  return {
    name,
    method: method === "HEAD" ? "GET" : method,
    roles,
    definition: policy,
    rate: rateOf({
      count: count / threads,
      windowSeconds,
      burst: Math.max(1, Math.floor(burst / threads)),
    }),
    header: ["RateLimit-Policy", `"${name}";q=${count};w=${windowSeconds}`],
    under: prefix === "" ? null : prefix,
    claim: by.kind === "claim" ? await claimReader(name, by.path) : null,
  };
}

/** Returns the function that finds a claim. */
async function claimReader(
  policy: string,
  path: string,
): Promise<(claims: string) => string | null> {
  const find = await compileClaimPath(path).catch((error) => {
    const problem = errorMessage(error);
    throw new Error(`policy ${policy}: invalid JSONPath (${path}): ${problem}`);
  });
  return (claims) => {
    const value = find(JSON.parse(claims)) ?? null;
    return value === null ? null : roleText(value);
  };
}
