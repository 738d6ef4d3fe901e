/**
 * How the total of a result becomes known.
 *
 * @module
 */
import type { Preferences } from "../request/api_request.ts";
import type { Window } from "../request/query_types.ts";

export type CountPlan =
  | { readonly kind: "none" }
  /** The page is everything: its rows are the total. */
  | { readonly kind: "page" }
  | { readonly kind: "exact" }
  | { readonly kind: "planned" }
  /** Counted up to `cap` rows (null: to the end); above it, the planner's estimate. */
  | { readonly kind: "estimated"; readonly cap: number | null };

/** For reading a relation. */
export function planCount(
  preference: Preferences["count"],
  window: Window,
  maxRows: number | null,
): CountPlan {
  const everything = window.first === 0n && window.last === null && maxRows === null;
  switch (preference) {
    case null:
      return { kind: "none" };
    case "exact":
      return { kind: everything ? "page" : "exact" };
    case "planned":
      return { kind: "planned" };
    case "estimated":
      return { kind: "estimated", cap: maxRows };
    default:
      return preference satisfies never;
  }
}

/** For the result of a function: an estimate counts, a plan of it says nothing. */
export function planResultCount(
  preference: Preferences["count"],
  window: Window,
  maxRows: number | null,
  set: boolean,
): CountPlan {
  if (preference === null || preference === "planned") return { kind: "none" };
  if (!set) return { kind: "page" };
  return planCount("exact", window, maxRows);
}
