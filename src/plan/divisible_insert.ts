/**
 * Decides whether several inserts in one transaction have the result of one insert of all rows.
 *
 * @module
 */
import type { Plan } from "./plan.ts";

/**
 * Returns true if neither the database nor the client can tell several inserts from one. The result
 * contains no rows, no row is written twice, and no user-defined function makes or checks values: see
 * `Relation.hasDivisibleInserts`.
 */
export function isDivisibleInsert(plan: Plan): boolean {
  if (plan.kind !== "mutate" || plan.action !== "insert") return false;
  const { mutate, representation } = plan;
  return mutate.kind === "insert" &&
    mutate.nested === null &&
    mutate.relation.hasDivisibleInserts === true &&
    mutate.returning === "none" &&
    mutate.conflict?.resolution !== "merge" &&
    mutate.rows.columns.every(({ fromJson }) => fromJson === null) &&
    representation.explain === null &&
    // The response to a single object depends on the number of rows.
    representation.format.kind !== "object";
}
