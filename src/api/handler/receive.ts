/** Creates the exchange of a request from its head. @module */
import { RequestTiming } from "../../base/observe/stopwatch.ts";
import { isOpaque } from "../../state/auth/api_keys.ts";
import { bearerToken, readCredential } from "../../state/auth/credential.ts";
import type { Config } from "../../state/config/options.ts";
import { errors } from "../../base/errors/catalogue.ts";
import { maskCookie } from "../../base/http/cookie.ts";
import { uncodedTags } from "../../base/http/etag.ts";
import {
  applicationNameOf,
  noIdentifiers,
  type RequestIdentifiers,
  requestIdOf,
} from "../../base/http/request_id.ts";
import { spanOf } from "../../base/http/trace_context.ts";
import { lengthError } from "../request/length_limits.ts";
import { preconditionHeaders } from "../request/preconditions.ts";
import { type RawRequest, readRawRequest } from "../request/raw_request.ts";
import type { HandlerState } from "../../state/app_state/handler_state.ts";
import { type Context, Exchange, type RequestInfo } from "./exchange.ts";

export function receive(request: Request, info: RequestInfo, context: Context): Exchange {
  const { appState, snapshot: { config } } = context;
  const received = readRawRequest(request, info.path);
  const served = config.serverPathPrefix === null ? received : belowPrefix(received, config);
  const raw = served ?? received;
  return new Exchange(request, context, {
    info,
    raw: withoutApiKey(asStored(raw, config), config),
    credential: readCredential({
      authorization: raw.headers["authorization"] ?? apiKeyOf(raw, config),
      cookie: () => request.headers.get("cookie"),
    }, config.jwtCookieName),
    identifiers: identifiersOf(request, config, appState),
    refusal: served === null
      ? errors.invalidPath()
      : lengthError(request.headers, received, config),
    timing: appState.isTimed() || config.logFormat === "json" ? new RequestTiming() : null,
  });
}

/** Returns a request with its path below the prefix, or to a health path; null for other paths. In
 * a well-known URI (RFC 8615), the prefix follows the well-known name, as in RFC 9728. */
function belowPrefix(
  raw: RawRequest,
  { serverPathPrefix, serverHealthPath }: Config,
): RawRequest | null {
  const { path } = raw;
  const prefix = serverPathPrefix ?? "";
  const rest = path.slice(prefix.length);
  if (path.startsWith(prefix) && (rest === "" || rest.startsWith("/"))) {
    return { ...raw, path: rest === "" ? "/" : rest };
  }
  const [wellKnown = ""] = /^\/\.well-known\/[^/]+/.exec(path) ?? [];
  const resource = path.slice(wellKnown.length);
  if (wellKnown !== "" && resource.startsWith(`${prefix}/`)) {
    return { ...raw, path: wellKnown + resource.slice(prefix.length) };
  }
  const isHealth = serverHealthPath !== null && path.startsWith(serverHealthPath);
  return isHealth && ["", "/live"].includes(path.slice(serverHealthPath.length)) ? raw : null;
}

/** Returns the header `apikey` as a value of `Authorization`; null if it is absent or has no effect. */
function apiKeyOf({ headers }: RawRequest, { apiKeys, jwtApikeyHeader }: Config): string | null {
  // If the header is repeated, the first one applies, as for tokens.
  const key = headers["apikey"]?.split(", ", 1)[0];
  if (key === undefined || !(jwtApikeyHeader || apiKeys !== null && isOpaque(key))) return null;
  return `Bearer ${key}`;
}

/** Returns the request without API keys. Database code must not see them, because they do not expire. */
function withoutApiKey(raw: RawRequest, { apiKeys }: Config): RawRequest {
  if (apiKeys === null) return raw;
  const headers = Object.entries(raw.headers).filter(([name, value]) => {
    if (name === "authorization" && bearerToken(value) !== null) {
      return !isOpaque(value.slice(6).trim());
    }
    return name !== "apikey" || !isOpaque(value);
  });
  return { ...raw, headers: Object.fromEntries(headers) };
}

/** Returns the request in the form that database code sees: with the token in a cookie masked, and
 * with entity tags as before compression. */
function asStored(
  raw: RawRequest,
  { jwtCookieName, serverCompression }: Pick<Config, "jwtCookieName" | "serverCompression">,
): RawRequest {
  const stored = jwtCookieName === null
    ? raw
    : { ...raw, cookies: maskCookie(raw.cookies, jwtCookieName) };
  if (serverCompression === null) return stored;
  const { headers } = stored;
  const conditions = preconditionHeaders
    .flatMap((name) => headers[name] === undefined ? [] : [[name, uncodedTags(headers[name])]]);
  if (conditions.length === 0) return stored;
  return { ...stored, headers: { ...headers, ...Object.fromEntries(conditions) } };
}

/** Returns the identifiers that the configuration enables. */
export function identifiersOf(
  { headers }: Request,
  { serverRequestIdHeader, dbTraceApplicationName }: Pick<
    Config,
    "dbTraceApplicationName" | "serverRequestIdHeader"
  >,
  appState: Pick<HandlerState, "activeSpan">,
): RequestIdentifiers {
  if (serverRequestIdHeader === null && !dbTraceApplicationName) return noIdentifiers;
  const requestId = serverRequestIdHeader === null
    ? null
    : requestIdOf(headers.get(serverRequestIdHeader));
  if (!dbTraceApplicationName) return { requestId, applicationName: null };
  return { requestId, applicationName: applicationNameOf(spanOf(headers, appState), requestId) };
}
