/** Media types of requests and responses. @module */

/** Options of a plan's media type, in the order in which the response header lists them. */
const planOptions = ["analyze", "verbose", "settings", "buffers", "wal"] as const;

export type PlanOption = typeof planOptions[number];

/** A parsed media type. The response uses the vendor tree that the client used. */
export type MediaRange =
  | { readonly kind: Exclude<PlainKind, "openapi"> }
  /** One JSON value per line. `type` is the name that the client used. */
  | { readonly kind: "ndjson"; readonly type: string; readonly stripped: boolean }
  /** `version` is the requested version: `3.1`. Default: `openapi-version`. */
  | { readonly kind: "openapi"; readonly version?: string }
  | { readonly kind: "singular"; readonly stripped: boolean; readonly vendor: string }
  | { readonly kind: "strippedArray"; readonly vendor: string }
  | {
    readonly kind: "plan";
    readonly format: "text" | "json";
    readonly of: MediaRange;
    readonly options: readonly PlanOption[];
    readonly vendor: string;
  }
  /** A patch document: RFC 7396, RFC 6902, or RFC 6902 with further operations. */
  | { readonly kind: "vendorPatch"; readonly vendor: string }
  /** Several operations of one transaction. */
  | { readonly kind: "batch"; readonly vendor: string }
  /** Text as received, spaces removed. */
  | { readonly kind: "other"; readonly text: string };

type PlainKind = keyof typeof plainTypes;

const plainTypes = {
  json: "application/json",
  geojson: "application/geo+json",
  csv: "text/csv",
  text: "text/plain",
  xml: "text/xml",
  openapi: "application/openapi+json",
  form: "application/x-www-form-urlencoded",
  octets: "application/octet-stream",
  mergePatch: "application/merge-patch+json",
  jsonPatch: "application/json-patch+json",
  any: "*/*",
} as const;

/** Names in use for lines of JSON, which have no registered media type. */
const ndjsonTypes = [
  "application/x-ndjson",
  "application/jsonl",
  "application/x-jsonlines",
] as const;

/** Vendor trees that both dialects accept. */
const vendors = ["svc", "pgrst"] as const;

type Parameters = ReadonlyMap<string, string>;

/** Builds a media range from the parameters of a supported type. */
type Maker = (parameters: Parameters) => MediaRange;

const makers: ReadonlyMap<string, Maker> = new Map<string, Maker>([
  ...(Object.entries(plainTypes) as [PlainKind, string][]).map(
    ([kind, text]): [string, Maker] => [text, () => ({ kind })],
  ),
  [plainTypes.openapi, openapi],
  ...ndjsonTypes.map((type): [string, Maker] => [
    type,
    (parameters) => ({ kind: "ndjson", type, stripped: isStripped(parameters) }),
  ]),
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
    [`${tree}patch+json`, () => ({ kind: "vendorPatch", vendor })],
    [`${tree}batch+json`, () => ({ kind: "batch", vendor })],
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

/** Parses a media type up to its first malformed parameter. An unsupported type becomes `other`. */
export function parseMediaType(text: string): MediaRange {
  const [type] = /^[a-z0-9.*]+\/[a-z0-9.*+-]+/i.exec(text) ?? [];
  const maker = type === undefined ? undefined : makers.get(type.toLowerCase());
  if (type === undefined || maker === undefined) return { kind: "other", text };
  return maker(text.length === type.length ? noParameters : parseParameters(text, type.length));
}

const noParameters: Parameters = new Map();

/** Parses `*( OWS ";" OWS name OWS "=" OWS value )`. Of repeated parameters, the first applies. */
function parseParameters(text: string, start: number): Parameters {
  const parameters = new Map<string, string>();
  const pattern = /[ \t]*;[ \t]*([a-z0-9-]+)[ \t]*=[ \t]*(?:"([^"]*)"|([a-z0-9.|-]+))/iy;
  pattern.lastIndex = start;
  for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
    const [, name = "", quoted, plain = ""] = match;
    const key = name.toLowerCase();
    if (!parameters.has(key)) parameters.set(key, quoted ?? plain);
  }
  return parameters;
}

/** Returns the name of a media type for messages, and for `Content-Type` without the charset. */
export function canonicalText(media: MediaRange): string {
  switch (media.kind) {
    case "singular":
      return `application/vnd.${media.vendor}.object+json${media.stripped ? strippedNulls : ""}`;
    case "strippedArray":
      return `application/vnd.${media.vendor}.array+json${strippedNulls}`;
    case "ndjson":
      return `${media.type}${media.stripped ? strippedNulls : ""}`;
    case "vendorPatch":
      return `application/vnd.${media.vendor}.patch+json`;
    case "batch":
      return `application/vnd.${media.vendor}.batch+json`;
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
  const suffix = options.length === 0 ? "" : `; options=${options.join("|")}`;
  return `application/vnd.${vendor}.plan+${format}; for="${canonicalText(of)}"${suffix}`;
}

/** Returns the `Content-Type` of a body. User-defined media types have no charset. */
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
