/** Plans how the total of a result is counted. @module */
import type { Preferences } from "../../request/api_request.ts";
import type { RowBounds } from "../../request/url/query_types.ts";
import type { SchemaCacheData } from "../../../state/schema_cache/schema_cache.ts";

export type CountPlan =
  | { readonly kind: "none" }
  /** The page contains all rows, so their number is the total. */
  | { readonly kind: "page"; readonly bound: number | null }
  /** Counts all rows, or at most one more than the bound. */
  | { readonly kind: "exact"; readonly bound: number | null }
  | { readonly kind: "planned" }
  /** Counts up to `cap` rows (null: all rows). Above `cap` the total is the planner's estimate. */
  | { readonly kind: "estimated"; readonly cap: number | null };

/** Returns the number in `count=exact-<number>`, up to which rows are counted; null for other values. */
export function countBound(preference: Preferences["count"]): number | null {
  return preference?.startsWith("exact-") ? Number(preference.slice("exact-".length)) : null;
}

export function planCount(
  preference: Preferences["count"],
  bounds: RowBounds,
  maxRows: number | null,
  { isDistributed }: Pick<SchemaCacheData, "isDistributed"> = {},
): CountPlan {
  // With Citus, the rows are counted, because its plans do not estimate them.
  const isEstimate = preference === "planned" || preference === "estimated";
  const kind = isDistributed === true && isEstimate ? "exact" : preference;
  switch (kind) {
    case null:
      return { kind: "none" };
    case "planned":
      return { kind: "planned" };
    case "estimated":
      return { kind: "estimated", cap: maxRows };
    default: {
      const isUnlimited = bounds.first === 0n && bounds.last === null && maxRows === null;
      return { kind: isUnlimited ? "page" : "exact", bound: countBound(kind) };
    }
  }
}

/** Plans the count of a result. For a function, whose rows the planner cannot estimate, `planned`
 * does not count and `estimated` counts exactly. */
export function planResultCount(
  preference: Preferences["count"],
  bounds: RowBounds,
  maxRows: number | null,
  set: boolean,
): CountPlan {
  if (preference === null || preference === "planned") return { kind: "none" };
  if (!set) return { kind: "page", bound: countBound(preference) };
  return planCount(preference === "estimated" ? "exact" : preference, bounds, maxRows);
}
