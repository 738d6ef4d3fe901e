/** The parsed request: its intent, before anything is looked up in the schema cache. @module */
import type { MediaRange } from "../../base/http/media_type.ts";
import type { SelectableColumns } from "../../state/schema_cache/schema_cache.ts";
import type { Preconditions } from "./preconditions.ts";
import type { QueryParams, RowBounds } from "./url/query_types.ts";
import type { Action } from "./action.ts";
import type { QueryForm } from "./raw_request.ts";
import type { Payload } from "./body/body_decoder.ts";

/** The preferences of the `Prefer` header; null for each that is absent. */
export interface Preferences {
  readonly resolution: "merge-duplicates" | "ignore-duplicates" | "return-existing" | null;
  readonly return: "representation" | "minimal" | "headers-only" | null;
  /** `exact-<number>` counts at most this number of rows. */
  readonly count: "exact" | "planned" | "estimated" | `exact-${number}` | null;
  readonly tx: "commit" | "rollback" | null;
  readonly missing: "default" | "null" | null;
  readonly handling: "strict" | "lenient" | null;
  readonly timezone: string | null;
  readonly maxAffected: number | null;
  readonly unmatched: "fail" | "ignore" | null;
  readonly read: "primary" | null;
  /** Whether truncation by `db-max-rows` is an error. */
  readonly maxRows: "fail" | null;
  /** Unknown tokens, in order. */
  readonly invalid: readonly string[];
}

export interface ApiRequest {
  /** As received, for `request.method`. */
  readonly method: string;
  /** Raw path as received, without the query string; value of `request.path`. */
  readonly path: string;
  /** Raw query string as received, for the targets of `Link`. */
  readonly queryString: string;
  readonly action: Action;
  /** How the request indicates that its parameters are in the body. Default: they are not. */
  readonly queryForm?: QueryForm;
  readonly schema: string;
  /** Whether the response names the schema: a header selected it, or several schemas are exposed. */
  readonly schemaNegotiated: boolean;
  readonly query: QueryParams;
  /** Row bounds of the root, by `limit`/`offset` and, for GET, `Range`. */
  readonly bounds: RowBounds;
  readonly preferences: Preferences;
  /** Preconditions that apply to the action. With `etag-mode` off, each is null. */
  readonly preconditions: Preconditions;
  /** Accepted media types, most preferred first. */
  readonly accept: readonly MediaRange[];
  /** Null if the action has no body. */
  readonly payload: Payload | null;
  /** Columns that the role may select, which `select=**` returns. Default: unknown. */
  readonly selectable?: SelectableColumns | undefined;
  /** Headers by lower-case name, without `cookie`. */
  readonly headers: Readonly<Record<string, string>>;
  readonly cookies: Readonly<Record<string, string>>;
}
