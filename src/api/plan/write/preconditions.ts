/** Plans which responses have an entity tag, and which rows a write may change. @module */
import type { Config } from "../../../state/config/options.ts";
import { errors } from "../../../base/errors/catalogue.ts";
import type { ApiRequest } from "../../request/api_request.ts";
import type { Relation } from "../../../state/schema_cache/schema_cache.ts";
import type { Representation } from "../negotiate.ts";
import { type RowVersion, rowVersionOf, versionsIn } from "./row_version.ts";

export interface Tagging {
  /** The version of the row, for a result with one row; null if rows have no version. */
  readonly version: RowVersion | null;
  /** Tags in `If-None-Match`, for which the result has no body; null without the header. */
  readonly unlessTag: readonly string[] | "*" | null;
}

export type WritePrecondition =
  /** The write must change at least one row, and insert none. */
  | { readonly kind: "exists" }
  /** PUT: the write must change no row. */
  | { readonly kind: "absent" }
  /** The write must change one row, whose version must be one of `versions`. */
  | {
    readonly kind: "version";
    /** Null if rows have no version. No row then satisfies the precondition. */
    readonly version: RowVersion | null;
    readonly versions: readonly string[];
  };

/** Returns how the response gets its tag; null for a response without a tag. */
export function taggingOf(
  { preconditions: { ifNoneMatch } }: ApiRequest,
  { format, explain }: Representation,
  { etagMode }: Config,
  version: () => RowVersion | null,
): Tagging | null {
  // No tag for lines, whose headers are sent before the rows are known, and for execution plans.
  if (etagMode === "off" || explain !== null || format.kind === "ndjson") return null;
  const unlessTag = ifNoneMatch === null || ifNoneMatch === "*"
    ? ifNoneMatch
    : ifNoneMatch.map(({ opaque }) => opaque);
  return { version: version(), unlessTag };
}

/** Returns the precondition of a write, or null. Throws `145` with `on`, `151` if no row can satisfy
 * the precondition, and `152` if a required precondition is absent. */
export function writePrecondition(
  { action, preconditions: { ifMatch, ifNoneMatch }, query: { on } }: ApiRequest,
  relation: Relation,
  config: Config,
): WritePrecondition | null {
  if (config.etagMode === "off" || action.kind === "insert") return null;
  if (ifMatch !== null && on !== null) {
    throw errors.unmatchableRows(on, "'on' cannot be combined with If-Match");
  }
  // PUT: `If-Match` requires that the row exists, and `If-None-Match` forbids that it exists.
  if (ifMatch !== null && ifNoneMatch !== null) throw errors.preconditionFailed();
  if (ifMatch === "*") return { kind: "exists" };
  if (ifMatch !== null) {
    const version = rowVersionOf(relation, config);
    return { kind: "version", version, versions: versionsIn(ifMatch) };
  }
  if (ifNoneMatch !== null) return { kind: "absent" };
  if (config.etagMode === "required" && on === null) throw errors.preconditionRequired();
  return null;
}
