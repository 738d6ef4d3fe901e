/** The parsed request: its intent, before anything is looked up in the schema cache. @module */
import type { MediaRange } from "../../base/http/media_type.ts";
import type { PatchDocument } from "./body/patch_document.ts";
import type { SelectableColumns } from "../../state/schema_cache/schema_cache.ts";
import type { QueryForm } from "./query_request.ts";
import type { Preconditions } from "./preconditions.ts";
import type { QueryParams, RowBounds } from "./url/query_types.ts";

/** The action of a request, chosen by path and method. */
export type Action =
  | { readonly kind: "read"; readonly relation: string; readonly headersOnly: boolean }
  | { readonly kind: "insert"; readonly relation: string }
  | { readonly kind: "update"; readonly relation: string }
  | { readonly kind: "put"; readonly relation: string }
  | { readonly kind: "delete"; readonly relation: string }
  | {
    readonly kind: "call";
    readonly routine: string;
    /** QUERY has its arguments in the body, as POST has, and can only read. */
    readonly method: "GET" | "HEAD" | "POST" | "QUERY";
  }
  | { readonly kind: "root"; readonly headersOnly: boolean }
  | { readonly kind: "options"; readonly target: OptionsTarget };

export type OptionsTarget =
  | { readonly kind: "relation"; readonly relation: string }
  | { readonly kind: "routine"; readonly routine: string }
  | { readonly kind: "root" };

/** `Prefer`, one member per preference; null when not given. */
export interface Preferences {
  readonly resolution: "merge-duplicates" | "ignore-duplicates" | "return-existing" | null;
  readonly return: "representation" | "minimal" | "headers-only" | null;
  /** `exact-<number>` counts at most this many rows. */
  readonly count: "exact" | "planned" | "estimated" | `exact-${number}` | null;
  readonly tx: "commit" | "rollback" | null;
  readonly missing: "default" | "null" | null;
  readonly handling: "strict" | "lenient" | null;
  readonly timezone: string | null;
  readonly maxAffected: number | null;
  readonly unmatched: "fail" | "ignore" | null;
  readonly read: "primary" | null;
  /** Whether an answer that `db-max-rows` cuts fails. */
  readonly maxRows: "fail" | null;
  /** Tokens that the service does not know, in order. */
  readonly invalid: readonly string[];
}

/** A request body after its content type was understood. */
export type Payload =
  | {
    /** JSON text of an object or an array, handed to PostgreSQL as it is. */
    readonly kind: "json";
    /** As sent; `{}` for the empty body of a call, and `[]` for rows that are a scalar. */
    readonly text: Uint8Array;
    /**
     * A body of a call that holds no arguments: a scalar, or an array with other elements than objects of
     * the same keys. Default: an object, or objects of the same keys.
     */
    readonly value?: "scalar" | "mixed";
    readonly shape: "object" | "array";
    /** Keys of the row(s), sorted; null when `columns` made looking unnecessary. */
    readonly keys: readonly string[] | null;
    /** How many more keys there are: no more are listed than can matter. */
    readonly moreKeys: number;
    /** Whether rows lack some of the keys. Default: all rows have all keys, or `keys` is null. */
    readonly keysVary?: true;
    /**
     * Arrays of about 1 MiB each, in place of `text`, which is empty then. To be read once: each stays unchanged
     * until the next one is requested. Default: none.
     */
    readonly pieces?: Iterable<Uint8Array>;
    /** A single unnamed parameter takes the JSON that CSV was converted to. */
    readonly source: "json" | "csv" | "row text" | "form";
  }
  | {
    /** Arguments by name, in the order sent. */
    readonly kind: "form";
    readonly fields: readonly (readonly [name: string, value: string])[];
    /** Names, sorted. */
    readonly keys: readonly string[];
    /** How many fields have other names: no more are listed than can matter. */
    readonly moreKeys: number;
  }
  | {
    /** A patch document, and its text as it was sent. */
    readonly kind: "patch";
    readonly document: PatchDocument;
    readonly text: Uint8Array;
  }
  | {
    /** A raw body for a single unnamed parameter. */
    readonly kind: "raw";
    readonly type: "text" | "xml" | "bytea";
    readonly bytes: Uint8Array;
  };

export interface ApiRequest {
  /** As received, for `request.method`. */
  readonly method: string;
  /** Raw path as received, without the query string, for `request.path`. */
  readonly path: string;
  /** Raw query string as received, for the targets of `Link`. */
  readonly queryString: string;
  readonly action: Action;
  /** How the request says that its parameters come in the body. Default: they do not. */
  readonly queryForm?: QueryForm;
  readonly schema: string;
  /** The schema was named by a profile header, or several are exposed. */
  readonly schemaNegotiated: boolean;
  readonly query: QueryParams;
  /** Rows of the root, by `limit`/`offset` and, for GET, `Range`. */
  readonly bounds: RowBounds;
  readonly preferences: Preferences;
  /** Those that count, with `etag-mode`. */
  readonly preconditions: Preconditions;
  /** Accepted media types, most preferred first. */
  readonly accept: readonly MediaRange[];
  /** Null when the action takes no body. */
  readonly payload: Payload | null;
  /** Columns that the role may select, for `**`. Default: unknown. */
  readonly selectable?: SelectableColumns | undefined;
  /** Lower-case names; without `cookie`. */
  readonly headers: Readonly<Record<string, string>>;
  readonly cookies: Readonly<Record<string, string>>;
}
