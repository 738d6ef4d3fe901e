/**
 * Takes the head of a request apart.
 *
 * @module
 */
import { type Credential, readCredential } from "../auth/credential.ts";
import type { Config } from "../config/options.ts";
import type { Dialect } from "../dialect.ts";
import type { ServiceError } from "../errors/service_error.ts";
import { maskCookie } from "../http/cookie.ts";
import type { RequestIdentifiers } from "../http/request_id.ts";
import { withVary } from "../http/vary.ts";
import type { HeaderList } from "../lib/header_list.ts";
import { type RawRequest, readRawRequest } from "../request/raw_request.ts";
import type { Header } from "../response/overrides.ts";
import type { RequestService } from "../service/request_service.ts";
import { withUncodedTags } from "./compression.ts";
import type { PipelineContext } from "./pipeline.ts";
import { lengthError } from "./request_checks.ts";
import { identifiersOf } from "./request_identifiers.ts";
import { noHeaders, sentHeaders } from "./sent_headers.ts";

/** A request, as far as its head says what it is. */
export interface ReceivedRequest {
  readonly pieces: RawRequest;
  readonly credential: Credential;
  readonly identifiers: RequestIdentifiers;
  /** The error of a head that is too long; null for none. */
  readonly refusal: ServiceError | null;
  /** Returns all headers of the response; `replacing` ones replace those of the reply. */
  readonly sent: (reply: HeaderList, replacing?: HeaderList) => HeaderList;
}

/** Takes a request apart. */
export function receive(
  request: Request,
  { addedHeaders: added, snapshot: { config } }: PipelineContext,
  { service, path }: { readonly service: RequestService; readonly path?: string | undefined },
): ReceivedRequest {
  const { jwtCookieName } = config;
  const raw = readRawRequest(request, path);
  const credential = readCredential({
    authorization: raw.headers["authorization"] ?? null,
    cookie: () => request.headers.get("cookie"),
  }, jwtCookieName);
  const pieces = withUncodedTags(withMaskedCookie(raw, jwtCookieName), config);
  const identifiers = identifiersOf(request, config, service);
  const { dialect } = service;
  const { trace, own } = requestHeaders(request, { config, identifiers, dialect });
  return {
    pieces,
    credential,
    identifiers,
    refusal: lengthError(request.headers, pieces, config),
    sent: (reply, replacing = noHeaders) =>
      added.variedBy.reduce(withVary, sentHeaders({ added, trace, reply, replacing, own })),
  };
}

/** Returns the headers that a response takes over from its request, and those it has in any case. */
function requestHeaders(
  { headers }: Request,
  { config, identifiers, dialect }: {
    readonly config: Config;
    readonly identifiers: RequestIdentifiers;
    readonly dialect: Dialect;
  },
): { readonly trace: Header | null; readonly own: HeaderList } {
  const { serverTraceHeader, serverRequestIdHeader } = config;
  const missing = dialect.missingTrace === "empty" ? "" : null;
  const value = serverTraceHeader === null ? null : headers.get(serverTraceHeader) ?? missing;
  return {
    trace: value === null ? null : [serverTraceHeader!, value],
    own: identifiers.requestId === null
      ? noHeaders
      : [[serverRequestIdHeader!, identifiers.requestId]],
  };
}

/** Hides the token in the cookie from database code, which may show all cookies of a request. */
function withMaskedCookie(pieces: RawRequest, cookieName: string | null): RawRequest {
  if (cookieName === null) return pieces;
  return { ...pieces, cookies: maskCookie(pieces.cookies, cookieName) };
}
