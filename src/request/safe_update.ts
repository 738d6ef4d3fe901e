/** The guard against updates and deletes of whole tables: `db-safe-update`. @module */
import { errors } from "../errors/catalogue.ts";
import type { ApiRequest } from "./api_request.ts";

/** Throws `158` for an update or a delete that nothing in the request limits. */
export function checkSafeUpdate({ action, query, preferences }: ApiRequest): void {
  if (action.kind !== "update" && action.kind !== "delete") return;
  const hasFilter = query.filters.some(({ path }) => path.length === 0) ||
    query.logic.some(({ path }) => path.length === 0) || query.on !== null;
  const isBounded = query.limit !== null ||
    preferences.handling === "strict" && preferences.maxAffected !== null;
  if (hasFilter || isBounded) return;
  throw errors.unfilteredWrite(action.kind === "update" ? "UPDATE" : "DELETE");
}
