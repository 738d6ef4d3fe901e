/**
 * Plans the way to count the total of a result.
 *
 * @module
 */
import type { Preferences } from "../request/api_request.ts";
import type { RowBounds } from "../request/query_types.ts";

export type CountPlan =
  | { readonly kind: "none" }
  /** The page holds all rows, so its row count is the total. */
  | { readonly kind: "page" }
  | { readonly kind: "exact" }
  | { readonly kind: "planned" }
  /** Counts up to `cap` rows (null: all rows). Above `cap` the total is the planner's estimate. */
  | { readonly kind: "estimated"; readonly cap: number | null };

/** Plans the count for reading a relation. */
export function planCount(
  preference: Preferences["count"],
  bounds: RowBounds,
  maxRows: number | null,
): CountPlan {
  const isUnlimited = bounds.first === 0n && bounds.last === null && maxRows === null;
  switch (preference) {
    case null:
      return { kind: "none" };
    case "exact":
      return { kind: isUnlimited ? "page" : "exact" };
    case "planned":
      return { kind: "planned" };
    case "estimated":
      return { kind: "estimated", cap: maxRows };
    default:
      return preference satisfies never;
  }
}

/**
 * Plans the count for the result of a function. `estimated` counts exactly, `planned` does not
 * count: the planner cannot see into a function.
 */
export function planResultCount(
  preference: Preferences["count"],
  bounds: RowBounds,
  maxRows: number | null,
  set: boolean,
): CountPlan {
  if (preference === null || preference === "planned") return { kind: "none" };
  if (!set) return { kind: "page" };
  return planCount("exact", bounds, maxRows);
}
