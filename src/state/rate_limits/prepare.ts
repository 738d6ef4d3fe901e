/** Prepares the policies of a configuration, and keeps the arrival times of the previous one.
 * @module */
import { compileClaimPath, roleText } from "../auth/role_claim.ts";
import type { Config } from "../config/options.ts";
import { type RateLimitPolicy, readRateLimits } from "../config/rate_limit_grammar.ts";
import { ArrivalTable, rateOf } from "./gcra.ts";
import type { PreparedPolicy, RateLimits } from "./rate_limiter.ts";
import { decodedPath } from "./resource.ts";
import { errorMessage } from "../../base/errors/error_message.ts";

/** Inputs of {@linkcode prepareRateLimits}. */
export interface RateLimitInputs {
  readonly config: Pick<Config, "mcpPath" | "rateLimits">;
  /** Those before a reload, whose table is kept. */
  readonly previous: RateLimits | null;
  /** Milliseconds since any start; never goes back. */
  readonly now: () => number;
  /** Threads that count in parallel, each by its part of the rates. */
  readonly threads: number;
}

/**
 * Returns the limits of a configuration; null without policies. Rejects with an `Error` if a JSONPath
 * is invalid.
 */
export async function prepareRateLimits(
  { config: { mcpPath, rateLimits: text }, previous, now, threads }: RateLimitInputs,
): Promise<RateLimits | null> {
  const reading = text === null ? null : readRateLimits(text);
  const configured = reading?.kind === "policies" ? reading.policies : [];
  const all = mcpPath === null ? configured : withMcpPolicy(configured, mcpPath);
  if (all.length === 0) return null;
  const table = previous?.table ?? new ArrivalTable(now);
  const policies = await Promise.all(all.map((policy) => preparePolicy(policy, threads)));
  return {
    table,
    beforeToken: policies.filter(needsNoToken),
    afterToken: policies.filter((policy) => !needsNoToken(policy)),
  };
}

/** Requests a minute that a token may send to the endpoint for agents, if no policy limits its path. */
const mcpRequestsPerMinute = 120;

/** Adds the policy for the endpoint for agents, unless one of the configuration is for its path. */
function withMcpPolicy(
  policies: readonly RateLimitPolicy[],
  mcpPath: string,
): readonly RateLimitPolicy[] {
  if (policies.some(({ path }) => decodedPath(path) === decodedPath(mcpPath))) return policies;
  const isTaken = policies.some(({ name }) => name === "mcp");
  return [...policies, {
    name: isTaken ? "mcp-path" : "mcp",
    count: mcpRequestsPerMinute,
    windowSeconds: 60,
    burst: mcpRequestsPerMinute,
    by: { kind: "token" },
    roles: null,
    method: null,
    path: mcpPath,
  }];
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
