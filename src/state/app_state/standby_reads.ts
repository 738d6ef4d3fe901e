/** Whether the catalogue permits that standbys execute reads. @module */
import type { Config } from "../config/options.ts";
import type { SchemaCache } from "../schema_cache/schema_cache.ts";

/** Returns why no read can use a standby; null if some can. */
export function unusedStandbysReason(
  config: Pick<Config, "dbPreRequest">,
  cache: SchemaCache,
): string | null {
  if (cache.data.volatileFunctions === null) {
    return "an operator, a cast or a type runs a volatile function";
  }
  return isStablePreRequest(config, cache) ? null : "db-pre-request may run a volatile function";
}

/**
 * Returns true unless a function before each request may run a volatile function. A function
 * without a schema is treated as volatile: the search path of the request decides which one it is.
 */
export function isStablePreRequest(
  { dbPreRequest }: Pick<Config, "dbPreRequest">,
  cache: SchemaCache,
): boolean {
  if (dbPreRequest === null) return true;
  const { schema, name } = dbPreRequest;
  const { stableWithoutArguments = [] } = cache.data;
  return stableWithoutArguments.some((each) => each.schema === schema && each.name === name);
}
