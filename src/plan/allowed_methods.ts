/**
 * The methods of a resource, for the `Allow` header. They do not depend on privileges.
 *
 * @module
 */
import type { Relation, Routine } from "../schema_cache/schema_cache.ts";

/** The value of `Allow` for the root. */
export const rootMethods = "OPTIONS,GET,HEAD";

/** The same where batches are on. */
export const rootMethodsWithBatch = `${rootMethods},POST`;

/** Returns the value of `Allow` for a table or view. */
export function relationMethods(relation: Relation): string {
  const { insertable, updatable, deletable, primaryKey } = relation;
  return [
    "OPTIONS,GET,HEAD",
    ...(insertable ? ["POST"] : []),
    ...(insertable && updatable && primaryKey.length > 0 ? ["PUT"] : []),
    ...(updatable ? ["PATCH"] : []),
    ...(deletable ? ["DELETE"] : []),
  ].join(",");
}

/** Returns the value of `Allow` for a function with all its overloads. */
export function routineMethods(overloads: readonly Routine[]): string {
  return overloads.every(({ volatility }) => volatility === "volatile")
    ? "OPTIONS,POST"
    : "OPTIONS,GET,HEAD,POST";
}
