/**
 * What one request sees of the service's state: configuration, keys and schema cache that belong
 * together, so that a reload is never seen half-way.
 *
 * @module
 */
import { createJwtCache, type JwtCache } from "./auth/jwt_cache.ts";
import { type KeySet, loadKeys } from "./auth/keys.ts";
import { parseRolePath, type RolePath } from "./auth/role_claim.ts";
import type { Config } from "./config/options.ts";
import type { ServiceError } from "./errors/service_error.ts";
import type { SchemaCache } from "./schema_cache/schema_cache.ts";

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
  /** Null until it was loaded for the first time. */
  readonly cache: SchemaCache | null;
  /** Why there is no schema cache; null when the reason is not for clients. */
  readonly cacheError: ServiceError | null;
}

/** Prepares what the configuration says about tokens. Rejects when the secret or path is unusable. */
export async function prepareAuth(config: Config): Promise<AuthState> {
  const [keys, rolePath] = await Promise.all([
    loadKeys(config.jwtSecret),
    parseRolePath(config.jwtRoleClaimKey),
  ]);
  return { keys, rolePath, cache: createJwtCache(config.jwtCacheMaxEntries) };
}
