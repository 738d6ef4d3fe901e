/**
 * The headers of responses: those of the service, of the reply, and of CORS.
 *
 * @module
 */
import type { Config } from "../config/options.ts";
import { withVary } from "../http/vary.ts";
import type { HeaderList } from "../lib/header_list.ts";
import type { Header } from "../response/overrides.ts";

/** Options that add headers. */
type AddedHeadersConfig = Pick<
  Config,
  | "dbBookmarkCookie"
  | "jwtCookieName"
  | "serverCorsAllowedOrigins"
  | "serverResponseHeaders"
  | "serverSecurityHeaders"
>;

/** A list without headers. */
export const noHeaders: HeaderList = [];

/** Headers that the service adds to each response that has none of the same name. */
export interface AddedHeaders {
  readonly toHtml: HeaderList;
  readonly toOthers: HeaderList;
  /** Fields of requests that `Vary` names in each response. */
  readonly variedBy: readonly string[];
}

const securityHeaders: HeaderList = [
  ["X-Content-Type-Options", "nosniff"],
  ["Referrer-Policy", "no-referrer"],
];

/** Forbids a document to load anything. Pages that a database makes need another policy. */
const contentPolicy = ["Content-Security-Policy", "default-src 'none'"] as const;

/**
 * Returns the headers that a configuration adds, after those in `first`. `bookmarkHeader` is null if there are no
 * standbys.
 */
export function addedHeaders(
  first: HeaderList,
  config: AddedHeadersConfig,
  bookmarkHeader: string | null,
): AddedHeaders {
  const variedBy = varyingFields(config, bookmarkHeader);
  const listed = [...first, ...Object.entries(config.serverResponseHeaders ?? {})];
  const configured = config.jwtCookieName === null ? listed : withVary(listed, "Cookie");
  const isMissing = ([name]: Header) => !hasHeader(name, configured);
  if (!config.serverSecurityHeaders) return { toHtml: configured, toOthers: configured, variedBy };
  const toHtml = [...configured, ...securityHeaders.filter(isMissing)];
  return { toHtml, toOthers: [...toHtml, ...[contentPolicy].filter(isMissing)], variedBy };
}

/**
 * Returns the fields that keep caches from serving a response to a request of another origin, or to a client
 * that has seen a later state.
 */
function varyingFields(
  { dbBookmarkCookie, serverCorsAllowedOrigins: origins }: AddedHeadersConfig,
  bookmarkHeader: string | null,
): readonly string[] {
  const isByOrigin = origins !== null && origins.length > 0;
  return [
    ...isByOrigin ? ["Origin"] : [],
    ...bookmarkHeader === null ? [] : [bookmarkHeader, ...dbBookmarkCookie ? ["Cookie"] : []],
  ];
}

/** Headers of one response. */
export interface ResponseHeaders {
  readonly added: AddedHeaders;
  /** Header that `server-trace-header` names; null for none. */
  readonly trace: Header | null;
  readonly reply: HeaderList;
  /** Headers that replace those of the reply, as CORS needs it. */
  readonly replacing: HeaderList;
  /** Headers that replace all others. */
  readonly own: HeaderList;
}

/** Returns all headers of a response. */
export function sentHeaders(
  { added, trace, reply, replacing, own }: ResponseHeaders,
): HeaderList {
  const sent: Header[] = [];
  for (const header of isHtml(reply, added) ? added.toHtml : added.toOthers) {
    if (!hasHeader(header[0], reply) && isKept(header, replacing, own)) sent.push(header);
  }
  if (trace !== null && !hasHeader(trace[0], reply) && isKept(trace, replacing, own)) {
    sent.push(trace);
  }
  for (const header of reply) if (isKept(header, replacing, own)) sent.push(header);
  for (const header of replacing) if (!hasHeader(header[0], own)) sent.push(header);
  for (const header of own) sent.push(header);
  return sent;
}

function isKept([name]: Header, replacing: HeaderList, own: HeaderList): boolean {
  return !hasHeader(name, replacing) && !hasHeader(name, own);
}

function isHtml(headers: HeaderList, { toHtml, toOthers }: AddedHeaders): boolean {
  if (toHtml === toOthers) return false;
  return headers.some(([name, value]) =>
    name.toLowerCase() === "content-type" &&
    /^\s*(?:text\/html|application\/xhtml\+xml)\b/i.test(value)
  );
}

/**
 * Returns headers for a `Response`: an object, which runtimes process faster, or a list if a header
 * occurs more than once. `omitsLength` leaves `Content-Length` to the server.
 */
export function headersInit(headers: HeaderList, omitsLength = false): HeadersInit {
  const init: Record<string, string> = {};
  for (const [name, value] of headers) {
    if (omitsLength && name === "Content-Length") continue;
    // True also for names on the prototype of all objects, which need the list as well.
    if (name in init) return headers.map(([...header]) => header);
    init[name] = value;
  }
  return init;
}

export function hasHeader(expected: string, headers: HeaderList): boolean {
  for (const [name] of headers) {
    if (name.length !== expected.length) continue;
    if (name.toLowerCase() === expected.toLowerCase()) return true;
  }
  return false;
}
