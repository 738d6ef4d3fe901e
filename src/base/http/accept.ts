/** The `Accept` request header. @module */
import { type MediaRange, parseMediaType } from "./media_type.ts";

const anyMediaRange: readonly MediaRange[] = [{ kind: "any" }];
const json: readonly MediaRange[] = [{ kind: "json" }];
const noMediaRanges: readonly MediaRange[] = [];

const common: ReadonlyMap<string | null, readonly MediaRange[]> = new Map([
  [null, anyMediaRange],
  ["*/*", anyMediaRange],
  ["application/json", json],
  ["", noMediaRanges],
]);

interface Item {
  readonly text: string;
  readonly quality: number;
  readonly specificity: number;
}

/**
 * Returns the accepted media types, the preferred one first: by quality, then by the number of
 * parameters minus the number of wildcards. Without a header, any media type is accepted. An empty
 * header accepts no media type.
 *
 * Like PostgREST, and unlike RFC 9110, section 12.5.1:
 *
 * - A comma inside quotes also separates items.
 * - `q=0` sorts last and excludes nothing.
 * - Text after `;q=` is not a parameter.
 * - A malformed quality is 1.
 */
export function parseAccept(header: string | null): readonly MediaRange[] {
  const parsed = common.get(header);
  if (parsed !== undefined || header === null) return parsed ?? anyMediaRange;
  return header.replaceAll(/[ \t]/g, "").split(",")
    .filter((text) => text !== "")
    .map(parseItem)
    .sort((one, other) => other.quality - one.quality || other.specificity - one.specificity)
    .map(({ text }) => parseMediaType(text));
}

function parseItem(item: string): Item {
  const at = item.indexOf(";q=");
  const text = at < 0 ? item : item.slice(0, at);
  const quality = at < 0 ? 1 : parseQuality(item.slice(at + 3).split(";", 1)[0] ?? "");
  return { text, quality, specificity: countOf(text, ";") - countOf(text, "*") };
}

function parseQuality(text: string): number {
  return /^[0-9]+(?:\.[0-9]+)?$/.test(text) ? Number(text) : 1;
}

function countOf(text: string, character: string): number {
  return text.split(character).length - 1;
}
