/**
 * Media types: what a client accepts and what a response is. Reference: 07 §1–§3.
 *
 * @module
 */

/** Options of an execution plan. */
export type PlanOption = "analyze" | "verbose" | "settings" | "buffers" | "wal";

/**
 * A media type as the service understands it. `vendor` is the spelling of the vendor tree that the
 * client used, so that it is answered in it.
 */
export type MediaRange =
  | { readonly kind: "json" }
  | { readonly kind: "geojson" }
  | { readonly kind: "csv" }
  | { readonly kind: "text" }
  | { readonly kind: "xml" }
  | { readonly kind: "openapi" }
  | { readonly kind: "form" }
  | { readonly kind: "octets" }
  | { readonly kind: "singular"; readonly stripped: boolean; readonly vendor: string }
  | { readonly kind: "strippedArray"; readonly vendor: string }
  | {
    readonly kind: "plan";
    readonly format: "text" | "json";
    readonly of: MediaRange;
    readonly options: readonly PlanOption[];
    readonly vendor: string;
  }
  | { readonly kind: "any" }
  /** Text as received, spaces removed. */
  | { readonly kind: "other"; readonly text: string };
