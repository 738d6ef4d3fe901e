/** Whether the catalogue permits standbys to execute reads. @module */
import type { Config } from "../config/options.ts";
import type { SchemaCache } from "../schema_cache/schema_cache.ts";

/** Returns why standbys can execute no reads; null if they can. */
export function unusedStandbysReason(
  config: Pick<Config, "dbPreRequest">,
  cache: SchemaCache,
): string | null {
  if (cache.data.volatileFunctions === null) {
    return "an operator, a cast or a type runs a volatile function";
  }
  return isStablePreRequest(config, cache) ? null : "db-pre-request may run a volatile function";
}

/** Returns false if `db-pre-request` may be volatile. A function without a schema is treated as
 * volatile, because the search path of the request selects it. */
export function isStablePreRequest(
  { dbPreRequest }: Pick<Config, "dbPreRequest">,
  cache: SchemaCache,
): boolean {
  if (dbPreRequest === null) return true;
  const { schema, name } = dbPreRequest;
  const { stableWithoutArguments = [] } = cache.data;
  return stableWithoutArguments.some((each) => each.schema === schema && each.name === name);
}
