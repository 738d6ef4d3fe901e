/** The steps after the stages. Each adds to replies what an option or request requires. @module */
import { formatServerTiming } from "../../base/observe/stopwatch.ts";
import type { Config } from "../../state/config/options.ts";
import { isResponseCoding } from "../../base/http/accept_encoding.ts";
import { actualHeaders } from "../../base/http/cors.ts";
import { isCrossOrigin } from "../../base/http/foreign_site.ts";
import { standardVary, varyBy } from "../../base/http/vary.ts";
import type { HeaderList } from "../../base/lib/header_list.ts";
import { compressReply } from "../response/compress.ts";
import { type BodyEncoders, bodyEncoders } from "../response/encoders.ts";
import type { Header } from "../response/overrides.ts";
import type { Reply } from "../response/reply.ts";
import { version } from "../../base/version.ts";
import { allowedOrigins, type Context, type Exchange, type ReplyStep } from "./exchange.ts";
import { hasHeader, withHeaders, withoutHeader } from "./headers.ts";

/** The parts of a context that decide which steps exist. */
type StepContext = Pick<Context, "bookmarkHeader" | "dialect" | "snapshot">;

/** Returns the steps for the replies of the stages, in order. */
export function replySteps(
  { dialect, snapshot, bookmarkHeader }: StepContext,
): readonly ReplyStep[] {
  const { config, rateLimits } = snapshot;
  const { jwtCookieName } = config;
  const isForAny = dialect.sharedCaches === "any";
  return [
    ...isForAny ? [varyErrors] : [],
    ...config.dbSchemas.length > 1 ? [varyByProfile()] : [],
    ...config.serverPathPrefix !== null ? [addPrefix(config.serverPathPrefix)] : [],
    ...config.serverTimingEnabled ? [addTiming] : [],
    ...rateLimits !== null ? [addLimits] : [],
    ...config.serverCompression !== null ? [compress(config.serverCompression)] : [],
    ...jwtCookieName !== null ? [guardCookie(jwtCookieName, config)] : [],
    ...isForAny || jwtCookieName !== null || readsApiKey(config) ? [keepPrivate] : [],
    ...bookmarkHeader !== null ? [addBookmark(bookmarkHeader)] : [],
    addCors,
  ];
}

/** Returns the steps for all replies, in order. */
export function headerSteps(context: StepContext): readonly ReplyStep[] {
  const { dialect, bookmarkHeader, snapshot: { config } } = context;
  const { serverRequestIdHeader: idName, serverTraceHeader: traceName } = config;
  const varied = varyingFields(config, { dialect, bookmarkHeader });
  return [
    ...idName === null ? [] : [replaceRequestId(idName)],
    ...traceName === null ? [] : [returnTrace(traceName, dialect.missingTrace)],
    addConfigured(configuredHeaders(`${dialect.productToken}/${version}`, config)),
    ...varied.length === 0 ? [] : [addVary(varied)],
  ];
}

/** Adds the prefix to the paths in `Location` and `Content-Location`. Addresses of other hosts are
 * unchanged. `Link` has relative addresses. */
function addPrefix(prefix: string): ReplyStep {
  return (reply) => ({
    ...reply,
    headers: reply.headers.map(([name, value]): Header =>
      /^(?:content-)?location$/i.test(name) && /^\/(?!\/)/.test(value)
        ? [name, prefix + value]
        : [name, value]
    ),
  });
}

function addTiming(reply: Reply, { stopwatch, failure }: Exchange): Reply {
  const timings = failure === null ? stopwatch.timings() : null;
  if (timings === null) return reply;
  return withHeaders(reply, [["Server-Timing", formatServerTiming(timings)]]);
}

function addLimits(reply: Reply, { admission }: Exchange): Reply {
  return admission === null ? reply : withHeaders(reply, admission.headers());
}

function compress(offered: NonNullable<Config["serverCompression"]>): ReplyStep {
  let encoders: BodyEncoders | null = null;
  const codings = offered.filter(isResponseCoding);
  return (reply, { request, raw: { method, headers, cookies } }) =>
    compressReply(reply, {
      method,
      headers,
      hasCookies: Object.keys(cookies).length > 0,
      ifNoneMatch: request.headers.get("if-none-match"),
      codings,
      encoders: encoders ??= bodyEncoders(),
    });
}

/** Removes the token's cookie from replies to other origins, which could log the user in under
 * another name. */
function guardCookie(
  cookieName: string,
  { jwtCookieOrigins }: Pick<Config, "jwtCookieOrigins">,
): ReplyStep {
  const setsCookie = ([name, value]: Header) =>
    name.toLowerCase() === "set-cookie" && value.trimStart().startsWith(`${cookieName}=`);
  return (reply, { raw }) => {
    const isForeign = isCrossOrigin(raw.headers) &&
      jwtCookieOrigins?.includes(raw.headers["origin"] ?? "") !== true;
    if (!isForeign) return reply;
    return { ...reply, headers: reply.headers.filter((header) => !setsCookie(header)) };
  };
}

/** Adds `Vary` to errors, with the same fields as other responses. */
function varyErrors(reply: Reply, { failure }: Exchange): Reply {
  if (failure === null || hasHeader("Vary", reply.headers)) return reply;
  return withHeaders(reply, [standardVary]);
}

function addVary(fields: readonly string[]): ReplyStep {
  const varied = varyBy(fields);
  return (reply) => ({ ...reply, headers: varied(reply.headers) });
}

/** Adds `Vary: Accept-Profile` to replies with `Vary`. Errors that have no `Vary` in PostgREST stay
 * without it. */
function varyByProfile(): ReplyStep {
  const step = addVary(["Accept-Profile"]);
  return (reply, exchange) => hasHeader("Vary", reply.headers) ? step(reply, exchange) : reply;
}

/** Forbids shared caches to store the response to a request with a token. RFC 9111, section 3.5,
 * forbids it only for `Authorization`, and not all caches comply. */
function keepPrivate(reply: Reply, exchange: Exchange): Reply {
  const { raw: { headers }, credential: { source }, context: { dialect } } = exchange;
  const isStandard = source === "bearer" && headers["authorization"] !== undefined;
  if (source === "none" || isStandard && dialect.sharedCaches !== "any") return reply;
  if (hasHeader("Cache-Control", reply.headers)) return reply;
  return withHeaders(reply, [["Cache-Control", "private"]]);
}

function addBookmark(bookmarkHeader: string): ReplyStep {
  return (reply) => {
    const { bookmark } = reply;
    return bookmark === undefined ? reply : withHeaders(reply, [[bookmarkHeader, bookmark]]);
  };
}

/** Adds the CORS headers, which override headers of the same name. */
function addCors(reply: Reply, exchange: Exchange): Reply {
  if (exchange.raw.headers["origin"] === undefined) return reply;
  const { context: { bookmarkHeader }, request } = exchange;
  const origins = allowedOrigins(exchange);
  if (origins === "none") return reply;
  const added = actualHeaders(request, origins, {
    bookmark: bookmarkHeader,
    has: (name) => hasHeader(name, reply.headers),
  });
  const others = reply.headers.filter(([name]) => !hasHeader(name, added));
  return { ...reply, headers: [...others, ...added] };
}

function replaceRequestId(name: string): ReplyStep {
  return (reply, { identifiers: { requestId } }) => ({
    ...reply,
    headers: [...withoutHeader(name, reply.headers), [name, requestId!]],
  });
}

function returnTrace(name: string, missing: "empty" | "omitted"): ReplyStep {
  return (reply, { request }) => {
    const value = request.headers.get(name) ?? (missing === "empty" ? "" : null);
    if (value === null || hasHeader(name, reply.headers)) return reply;
    return { ...reply, headers: [[name, value], ...reply.headers] };
  };
}

/** Options that add headers. */
type HeaderConfig = Pick<
  Config,
  | "apiKeys"
  | "jwtApikeyHeader"
  | "jwtCookieName"
  | "serverCorsAllowedOrigins"
  | "serverResponseHeaders"
  | "serverSecurityHeaders"
>;

/** Returns whether the header `apikey` can contain the token of a request. */
function readsApiKey(
  { apiKeys, jwtApikeyHeader }: Pick<Config, "apiKeys" | "jwtApikeyHeader">,
): boolean {
  return jwtApikeyHeader || apiKeys !== null;
}

/** Headers of all responses. A reply's header of the same name overrides them. */
interface ConfiguredHeaders {
  readonly toHtml: HeaderList;
  readonly toOthers: HeaderList;
}

const securityHeaders: HeaderList = [
  ["X-Content-Type-Options", "nosniff"],
  ["Referrer-Policy", "no-referrer"],
];

/** Forbids a document to load anything. Pages from a database need another policy. */
const contentPolicy = ["Content-Security-Policy", "default-src 'none'"] as const;

function configuredHeaders(server: string, config: HeaderConfig): ConfiguredHeaders {
  const listed: HeaderList = [
    ["Server", server],
    ...Object.entries(config.serverResponseHeaders ?? {}),
  ];
  const isMissing = ([name]: Header) => !hasHeader(name, listed);
  if (!config.serverSecurityHeaders) return { toHtml: listed, toOthers: listed };
  const toHtml = [...listed, ...securityHeaders.filter(isMissing)];
  return { toHtml, toOthers: [...toHtml, ...[contentPolicy].filter(isMissing)] };
}

function addConfigured({ toHtml, toOthers }: ConfiguredHeaders): ReplyStep {
  return (reply) => {
    const { headers } = reply;
    const all: Header[] = [];
    for (const header of toHtml !== toOthers && isHtml(headers) ? toHtml : toOthers) {
      if (!hasHeader(header[0], headers)) all.push(header);
    }
    for (const header of headers) all.push(header);
    return { ...reply, headers: all };
  };
}

function isHtml(headers: HeaderList): boolean {
  return headers.some(([name, value]) =>
    name.toLowerCase() === "content-type" &&
    /^\s*(?:text\/html|application\/xhtml\+xml)\b/i.test(value)
  );
}

/** Returns the `Vary` fields. They keep caches from serving a response to another token or origin,
 * or to a client that has seen a later state. */
function varyingFields(
  config: HeaderConfig,
  { dialect, bookmarkHeader }: Pick<StepContext, "bookmarkHeader" | "dialect">,
): readonly string[] {
  const { serverCorsAllowedOrigins: origins } = config;
  const isForAny = dialect.sharedCaches === "any";
  return [
    ...isForAny ? ["Authorization"] : [],
    ...readsApiKey(config) ? ["apikey"] : [],
    ...config.jwtCookieName === null ? [] : ["Cookie"],
    ...isForAny || origins !== null && origins.length > 0 ? ["Origin"] : [],
    ...bookmarkHeader === null ? [] : [bookmarkHeader],
  ];
}
