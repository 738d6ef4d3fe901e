/** Content codings of responses: what a client accepts, and which types are worth coding. @module
 */

export const responseCodings = ["zstd", "br", "gzip"] as const;

export type ResponseCoding = typeof responseCodings[number];

export function isResponseCoding(text: string): text is ResponseCoding {
  return responseCodings.some((coding) => coding === text);
}

/**
 * Returns the coding of highest weight that the client accepts (RFC 9110, section 12.5.3). If weights
 * are equal, returns the first in `offered`. Returns null for an uncoded response: without the
 * header, if the client prefers `identity`, or if it accepts no coding of `offered`.
 */
export function chooseCoding(
  acceptEncoding: string | null,
  offered: readonly ResponseCoding[],
): ResponseCoding | null {
  if (acceptEncoding === null) return null;
  const weights = weightsOf(acceptEncoding);
  const any = weights.get("*") ?? 0;
  let [best, bestWeight]: [ResponseCoding | null, number] = [null, 0];
  for (const coding of offered) {
    const weight = weights.get(coding) ?? any;
    if (weight > bestWeight) [best, bestWeight] = [coding, weight];
  }
  return (weights.get("identity") ?? 0) > bestWeight ? null : best;
}

function weightsOf(value: string): ReadonlyMap<string, number> {
  const weights = new Map<string, number>();
  for (const item of value.toLowerCase().split(",")) {
    const [name = "", ...parameters] = item.split(";").map((part) => part.trim());
    const weight = parameters.find((parameter) => parameter.startsWith("q="));
    const coding = name === "x-gzip" ? "gzip" : name;
    if (coding !== "") weights.set(coding, weight === undefined ? 1 : weightOf(weight.slice(2)));
  }
  return weights;
}

/** Returns 0 for a text that is not a weight. */
function weightOf(text: string): number {
  return /^(?:0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?)$/.test(text) ? Number(text) : 0;
}

/** Compressible types that are not covered by `text/` and the suffixes below. */
const compressibleTypes =
  /^application\/(?:json|jsonl|ndjson|x-ndjson|x-jsonlines|xml|yaml|x-yaml|sql|javascript|wasm)$/;

/** Returns whether compression usually shrinks data of a type. `text/event-stream` is excluded,
 * because its events must not be delayed. */
export function isCompressible(contentType: string): boolean {
  const end = contentType.indexOf(";");
  const type = (end === -1 ? contentType : contentType.slice(0, end)).trim().toLowerCase();
  if (type === "text/event-stream") return false;
  return compressibleTypes.test(type) || /^text\/|\+(?:json|text|xml|yaml)$/.test(type);
}
