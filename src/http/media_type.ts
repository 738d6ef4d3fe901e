/**
 * Media types: what a client accepts and what a response is.
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
  /** `version` as it was asked for, if it was: `3.1`. */
  | { readonly kind: "openapi"; readonly version?: string }
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

type PlainKind =
  | "json"
  | "geojson"
  | "csv"
  | "text"
  | "xml"
  | "openapi"
  | "form"
  | "octets"
  | "any";

const plainTypes: Readonly<Record<PlainKind, string>> = {
  json: "application/json",
  geojson: "application/geo+json",
  csv: "text/csv",
  text: "text/plain",
  xml: "text/xml",
  openapi: "application/openapi+json",
  form: "application/x-www-form-urlencoded",
  octets: "application/octet-stream",
  any: "*/*",
};

/** The vendor trees that are understood, in either dialect. */
const vendors = ["svc", "pgrst"] as const;

/** In the order in which they are echoed. */
const planOptions: readonly PlanOption[] = ["analyze", "verbose", "settings", "buffers", "wal"];

type Parameters = ReadonlyMap<string, string>;

/** Makes a media range of the parameters that stand beside a known type. */
type Maker = (parameters: Parameters) => MediaRange;

const makers: ReadonlyMap<string, Maker> = new Map<string, Maker>([
  ...(Object.entries(plainTypes) as [PlainKind, string][]).map(
    ([kind, text]): [string, Maker] => [text, () => ({ kind })],
  ),
  [plainTypes.openapi, openapi],
  ...vendors.flatMap(vendorMakers),
]);

function openapi(parameters: Parameters): MediaRange {
  const version = parameters.get("version");
  return version === undefined ? { kind: "openapi" } : { kind: "openapi", version };
}

function vendorMakers(vendor: string): [string, Maker][] {
  const singular: Maker = (parameters) => ({
    kind: "singular",
    stripped: isStripped(parameters),
    vendor,
  });
  const array: Maker = (parameters) =>
    isStripped(parameters) ? { kind: "strippedArray", vendor } : { kind: "json" };
  const plan = (format: "text" | "json"): Maker => (parameters) => ({
    kind: "plan",
    format,
    of: parseMediaType(parameters.get("for") ?? plainTypes.json),
    options: optionsOf(parameters),
    vendor,
  });
  const tree = `application/vnd.${vendor}.`;
  return [
    [`${tree}object`, singular],
    [`${tree}object+json`, singular],
    [`${tree}array`, array],
    [`${tree}array+json`, array],
    [`${tree}plan`, plan("text")],
    [`${tree}plan+text`, plan("text")],
    [`${tree}plan+json`, plan("json")],
  ];
}

function isStripped(parameters: Parameters): boolean {
  return parameters.get("nulls") === "stripped";
}

function optionsOf(parameters: Parameters): readonly PlanOption[] {
  const names = new Set(parameters.get("options")?.split("|"));
  return planOptions.filter((option) => names.has(option));
}

/**
 * Reads one media type with its parameters, up to the first thing that does not fit; names in any
 * letter case. What is not known, or no media type, is kept as `other`.
 */
export function parseMediaType(text: string): MediaRange {
  const [type] = /^[a-z0-9.*]+\/[a-z0-9.*+-]+/i.exec(text) ?? [];
  const maker = type === undefined ? undefined : makers.get(type.toLowerCase());
  if (type === undefined || maker === undefined) return { kind: "other", text };
  return maker(text.length === type.length ? noParameters : parseParameters(text, type.length));
}

const noParameters: Parameters = new Map();

/** `*( OWS ";" OWS name OWS "=" OWS value )`; the first of a name counts. */
function parseParameters(text: string, start: number): Parameters {
  const parameters = new Map<string, string>();
  const pattern = /[ \t]*;[ \t]*([a-z0-9-]+)[ \t]*=[ \t]*(?:"([^"]*)"|([a-z0-9.|-]+))/iy;
  pattern.lastIndex = start;
  for (let found = pattern.exec(text); found !== null; found = pattern.exec(text)) {
    const [, name = "", quoted, plain = ""] = found;
    const key = name.toLowerCase();
    if (!parameters.has(key)) parameters.set(key, quoted ?? plain);
  }
  return parameters;
}

/** The name of a media type in messages, and in `Content-Type` but for the charset. */
export function canonicalText(media: MediaRange): string {
  switch (media.kind) {
    case "singular":
      return `application/vnd.${media.vendor}.object+json${media.stripped ? strippedNulls : ""}`;
    case "strippedArray":
      return `application/vnd.${media.vendor}.array+json${strippedNulls}`;
    case "plan":
      return planText(media);
    case "other":
      return media.text;
    default:
      return plainTypes[media.kind];
  }
}

const strippedNulls = ";nulls=stripped";

function planText(
  { vendor, format, of, options }: Extract<MediaRange, { readonly kind: "plan" }>,
): string {
  const shown = options.length === 0 ? "" : `; options=${options.join("|")}`;
  return `application/vnd.${vendor}.plan+${format}; for="${canonicalText(of)}"${shown}`;
}

/** The `Content-Type` of a body. Types of the database's own making come without a charset. */
export function contentTypeOf(media: MediaRange): string {
  switch (media.kind) {
    case "octets":
    case "any":
      return plainTypes.octets;
    case "other":
      return media.text;
    default:
      return `${canonicalText(media)}; charset=utf-8`;
  }
}
