/** Cross-origin requests (https://fetch.spec.whatwg.org/#http-cors-protocol). @module */
import { isHeaderName } from "../errors/http_text.ts";
import type { HeaderList } from "../lib/header_list.ts";

/** The parts of a request that CORS depends on. A `Request` satisfies it. */
export interface CrossOriginRequest {
  readonly method: string;
  readonly headers: { get(name: string): string | null };
}

const methods = ["GET", "POST", "PATCH", "PUT", "DELETE", "OPTIONS", "HEAD"] as const;
const safelisted = ["Accept", "Accept-Language", "Content-Language"] as const;
const exposed = [
  "Content-Encoding",
  "Content-Location",
  "Content-Range",
  "Content-Type",
  "Date",
  "Location",
  "Server",
  "Transfer-Encoding",
  "Range-Unit",
] as const;

/** Response headers that only some responses have. */
const optional = [
  ...["ETag", "Idempotent-Replayed", "RateLimit", "RateLimit-Policy", "Retry-After", "Link"],
  ...["Accept-Query", "Svc-Truncated", "Svc-Count", "Deprecation", "Sunset"],
];

/** Response headers of live queries. */
const ofLiveQueries = ["handle", "offset", "schema", "cursor", "up-to-date"]
  .map((name) => `electric-${name}`);

const knownMethods: ReadonlySet<string> = new Set(methods);

/** Returns the headers of an allowed preflight, else null. If `allowedOrigins` is null, all origins
 * are allowed. `takesQuery`: the method QUERY is allowed. */
export function preflightHeaders(
  { method, headers }: CrossOriginRequest,
  allowedOrigins: readonly string[] | null,
  { takesQuery = false }: { readonly takesQuery?: boolean } = {},
): HeaderList | null {
  if (method !== "OPTIONS") return null;
  const origin = originHeaders(headers.get("origin"), allowedOrigins);
  const requestedMethod = headers.get("access-control-request-method") ?? "";
  const isQuery = takesQuery && requestedMethod === "QUERY";
  if (origin === null || !(isQuery || knownMethods.has(requestedMethod))) return null;
  const requested = headers.get("access-control-request-headers");
  const names = requested === null ? [] : parseNames(requested);
  if (names === null) return null;
  return [
    ...origin,
    ["Access-Control-Allow-Methods", [...methods, ...isQuery ? ["QUERY"] : []].join(", ")],
    ...(requested === null
      ? []
      : [["Access-Control-Allow-Headers", allowedHeaders(names)] as const]),
    ["Access-Control-Max-Age", "86400"],
  ];
}

/** The response whose headers browsers show to pages of other origins. */
export interface ExposedResponse {
  /** Returns whether the response has a header of this name. */
  readonly has: (name: string) => boolean;
  /** Name of the header with the bookmark, or null. */
  readonly bookmark: string | null;
}

/** Returns the CORS headers of a response; empty unless the request is cross-origin and allowed. */
export function actualHeaders(
  { method, headers }: CrossOriginRequest,
  allowedOrigins: readonly string[] | null,
  response: ExposedResponse,
): HeaderList {
  const origin = method === "OPTIONS" ? null : originHeaders(headers.get("origin"), allowedOrigins);
  if (origin === null) return [];
  return [...origin, ["Access-Control-Expose-Headers", exposedNames(response).join(", ")]];
}

function exposedNames({ has, bookmark }: ExposedResponse): readonly string[] {
  return [
    ...exposed,
    ...has("electric-handle") ? ofLiveQueries : [],
    ...[...optional, ...bookmark === null ? [] : [bookmark]].filter(has),
  ];
}

function originHeaders(
  origin: string | null,
  allowedOrigins: readonly string[] | null,
): HeaderList | null {
  if (origin === null) return null;
  if (allowedOrigins === null || allowedOrigins.length === 0) {
    return [["Access-Control-Allow-Origin", "*"]];
  }
  if (!allowedOrigins.includes(origin)) return null;
  return [
    ["Access-Control-Allow-Origin", origin],
    ["Access-Control-Allow-Credentials", "true"],
  ];
}

/** Parses a list of header names (RFC 9110, section 5.6.2); null if one is malformed. */
function parseNames(text: string): readonly string[] | null {
  const names = text.split(",").map((name) => name.trim()).filter((name) => name !== "");
  return names.every(isHeaderName) ? names : null;
}

/** Lists `Authorization`, the requested headers and the safelisted headers, each name once. */
function allowedHeaders(requested: readonly string[]): string {
  const names = new Map<string, string>();
  for (const name of ["Authorization", ...requested, ...safelisted]) {
    const key = name.toLowerCase();
    if (!names.has(key)) names.set(key, name);
  }
  return [...names.values()].join(", ");
}
