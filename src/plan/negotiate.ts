/**
 * Which representation a request gets: the first accepted media type that can be made.
 *
 * @module
 */
import { errors } from "../errors/catalogue.ts";
import { canonicalText, type MediaRange } from "../http/media_type.ts";

/** How the rows become a body. */
export type BodyFormat =
  | { readonly kind: "array"; readonly stripped: boolean }
  | { readonly kind: "object"; readonly stripped: boolean }
  | { readonly kind: "csv" };

/** A representation: what the body is made by, and the media type it is sent as. */
export interface Representation {
  readonly format: BodyFormat;
  readonly mediaType: MediaRange;
}

/** Walks the accepted types, most wanted first. Raises 406 `107`. */
export function negotiate(accept: readonly MediaRange[]): Representation {
  for (const range of accept) {
    const representation = representationOf(range);
    if (representation !== null) return representation;
  }
  throw errors.notAcceptable(accept.map(canonicalText));
}

const json: MediaRange = { kind: "json" };

function representationOf(range: MediaRange): Representation | null {
  switch (range.kind) {
    case "any":
    case "json":
      return { format: { kind: "array", stripped: false }, mediaType: json };
    case "csv":
      return { format: { kind: "csv" }, mediaType: range };
    case "singular":
      return { format: { kind: "object", stripped: range.stripped }, mediaType: range };
    case "strippedArray":
      return { format: { kind: "array", stripped: true }, mediaType: range };
    case "geojson":
    case "text":
    case "xml":
    case "openapi":
    case "form":
    case "octets":
    case "plan":
    case "other":
      return null;
    default:
      return range satisfies never;
  }
}
