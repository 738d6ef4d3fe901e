/**
 * What one request sees of the service's state: configuration, keys and schema cache that belong
 * together, so that a reload is never seen half-way.
 *
 * @module
 */
import { createJwtCache, type JwtCache } from "../auth/jwt_cache.ts";
import { type KeySet, loadKeys } from "../auth/keys.ts";
import { parseRolePath, type RolePath } from "../auth/role_claim.ts";
import type { RoleDefaultsByRole } from "../config/in_database.ts";
import type { Config } from "../config/options.ts";
import type { ServiceError } from "../errors/service_error.ts";
import type { SchemaCache } from "../schema_cache/schema_cache.ts";

/** Everything that verifying a token needs. */
export interface AuthState {
  readonly keys: KeySet | null;
  readonly cache: JwtCache | null;
  readonly rolePath: RolePath;
}

/** State that is replaced whole. */
export interface Snapshot {
  readonly config: Config;
  readonly auth: AuthState;
  /** What requests of each role begin with. */
  readonly roles: RoleDefaultsByRole;
  /** Null until it was loaded for the first time. */
  readonly cache: SchemaCache | null;
  /** Why there is no schema cache; null when the reason is not for clients. */
  readonly cacheError: ServiceError | null;
}

/** What was prepared for another configuration. */
export type Prepared = Pick<Snapshot, "config" | "auth">;

/**
 * Prepares what the configuration says about tokens. Verified tokens are remembered as long as the
 * secret stays the same, however many of them the new configuration allows. Rejects when the secret or
 * the path is unusable.
 */
export async function prepareAuth(config: Config, previous: Prepared | null): Promise<AuthState> {
  const [keys, rolePath] = await Promise.all([
    loadKeys(config.jwtSecret),
    parseRolePath(config.jwtRoleClaimKey),
  ]);
  const kept = previous !== null && hasSameSecret(config, previous.config) ? previous.auth : null;
  return {
    keys: kept?.keys ?? keys,
    rolePath: kept?.rolePath.text === rolePath.text ? kept.rolePath : rolePath,
    cache: resized(kept?.cache ?? null, config.jwtCacheMaxEntries),
  };
}

function hasSameSecret(one: Config, other: Config): boolean {
  const [a, b] = [one.jwtSecret, other.jwtSecret];
  if (a === null || b === null) return a === b;
  return a.length === b.length && a.every((byte, position) => byte === b[position]);
}

function resized(cache: JwtCache | null, maxEntries: number): JwtCache | null {
  if (cache === null || maxEntries <= 0) return createJwtCache(maxEntries);
  cache.resize(maxEntries);
  return cache;
}
