/** The state for one request: configuration, keys and schema cache that belong together. A request
 * never sees part of a reload. @module */
import { ApiKeys } from "../auth/api_keys.ts";
import { createJwtCache, type JwtCache } from "../auth/jwt_cache.ts";
import { prepareIssuers } from "../auth/prepare_issuers.ts";
import type { RemoteKeySets } from "../auth/remote_key_set.ts";
import { parseRolePath, type RolePath } from "../auth/role_claim.ts";
import type { TenantRule } from "../auth/claims.ts";
import type { Issuers } from "../auth/verify_token.ts";
import type { RoleSettings } from "../config/in_database.ts";
import type { Config } from "../config/options.ts";
import type { ServiceError } from "../../base/errors/service_error.ts";
import { readTrustedProxies, type TrustedProxies } from "../../base/http/client_address.ts";
import { prepareRateLimits } from "../rate_limits/prepare.ts";
import type { RateLimits } from "../rate_limits/rate_limiter.ts";
import type { SchemaCache } from "../schema_cache/schema_cache.ts";

/** Keys and settings that verify tokens. */
export interface AuthState {
  /** Null if no option names keys. */
  readonly issuers: Issuers | null;
  readonly cache: JwtCache | null;
  /** Null without `api-keys`. */
  readonly apiKeys: ApiKeys | null;
  readonly rolePath: RolePath;
  /** The tenant that tokens must name; null for any. */
  readonly tenant: TenantRule | null;
}

/** State of the service. A reload replaces it as a whole. */
export interface Snapshot {
  readonly config: Config;
  readonly auth: AuthState;
  /** Null without `rate-limits`. */
  readonly rateLimits: RateLimits | null;
  /** Null if no proxy is trusted. */
  readonly trustedProxies: TrustedProxies | null;
  /** Settings that apply to requests of each role. */
  readonly roles: RoleSettings;
  /** Result of `version()`; null before the first load, and for an external schema cache. */
  readonly serverVersion: string | null;
  /** Whether all transactions must use BEGIN and COMMIT, as some poolers require. */
  readonly usesBlocks: boolean;
  /** Null until the first load succeeds. */
  readonly cache: SchemaCache | null;
  /** Time of the load in epoch milliseconds; `-Infinity` if the service has not loaded the cache. */
  readonly cacheLoadedAt: number;
  /** Reason why no schema cache is loaded; null if clients must not see the reason. */
  readonly cacheError: ServiceError | null;
}

/** A configuration with the state that was prepared for it. */
export type PreparedConfig = Pick<Snapshot, "config" | "auth">;

/** The state that limits the requests of clients. */
export type ClientLimits = Pick<Snapshot, "rateLimits" | "trustedProxies">;

/** Prepares the limits of requests, of which each thread has a share. Keeps the requests that were
 * counted under the previous limits. Rejects with an `Error` if a JSONPath is invalid. */
export async function prepareClientLimits(
  config: Pick<Config, "rateLimits" | "serverTrustedProxies" | "wingOptions">,
  previous: Pick<Snapshot, "rateLimits"> | null,
  threads = 1,
): Promise<ClientLimits> {
  const { serverTrustedProxies: proxies } = config;
  return {
    rateLimits: await prepareRateLimits({
      config,
      previous: previous?.rateLimits ?? null,
      now: () => performance.now(),
      threads,
    }),
    trustedProxies: proxies === null ? null : readTrustedProxies(proxies),
  };
}

/**
 * Prepares the keys, the role path and the cache of verified tokens. Keeps and resizes the previous
 * cache if the accepted issuers are unchanged. Rejects if an issuer, the secret or the role path is
 * invalid.
 */
export async function prepareAuth(
  config: Config,
  previous: PreparedConfig | null,
  remoteKeySets: RemoteKeySets,
): Promise<AuthState> {
  const [issuers, rolePath] = await Promise.all([
    prepareIssuers(config, remoteKeySets),
    parseRolePath(config.jwtRoleClaimKey),
  ]);
  const auth = previous !== null && hasSameIssuers(config, previous.config) ? previous.auth : null;
  return {
    issuers: auth?.issuers ?? issuers,
    rolePath: auth?.rolePath.text === rolePath.text ? auth.rolePath : rolePath,
    apiKeys: config.apiKeys === null ? null : new ApiKeys(config.apiKeys, config.dbAnonRole),
    cache: resizeCache(auth?.cache ?? null, config.jwtCacheMaxEntries),
    tenant: previous?.auth.tenant ?? null,
  };
}

function hasSameIssuers(one: Config, other: Config): boolean {
  return hasSameSecret(one, other) && one.jwtJwksUrl === other.jwtJwksUrl &&
    one.jwtIssuer === other.jwtIssuer &&
    JSON.stringify(one.jwtIssuers) === JSON.stringify(other.jwtIssuers);
}

function hasSameSecret(one: Config, other: Config): boolean {
  const [a, b] = [one.jwtSecret, other.jwtSecret];
  if (a === null || b === null) return a === b;
  return a.length === b.length && a.every((byte, position) => byte === b[position]);
}

function resizeCache(cache: JwtCache | null, maxEntries: number): JwtCache | null {
  if (cache === null || maxEntries <= 0) return createJwtCache(maxEntries);
  cache.resize(maxEntries);
  return cache;
}
