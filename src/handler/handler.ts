/**
 * Turns a `Request` into a `Response` and reports it to the observer.
 *
 * @module
 */
import { SpoolSpace } from "../lib/spool_file.ts";
import type { HeaderList } from "../lib/header_list.ts";
import { clientAddress } from "../http/client_address.ts";
import { maskCookie } from "../http/cookie.ts";
import { withVary } from "../http/vary.ts";
import { actualHeaders, preflightHeaders } from "../http/cors.ts";
import { badHostResponse, isHostHeader } from "../http/host.ts";
import { type Credential, readCredential } from "../auth/credential.ts";
import { noScope } from "../auth/remote_key_set.ts";
import type { Statement } from "../database/database.ts";
import type { Dialect } from "../dialect.ts";
import { errorFacts, errorResponse } from "../errors/error_response.ts";
import type { ServiceError } from "../errors/service_error.ts";
import {
  isLoggedFailure,
  type PipelineContext,
  type PipelineResult,
  runPipeline,
} from "./pipeline.ts";
import { type RawRequest, readRawRequest } from "../request/raw_request.ts";
import type { FinishedRequest } from "../observe/observation.ts";
import { type BodyEncoders, bodyEncoders } from "../response/encoders.ts";
import type { Header } from "../response/overrides.ts";
import type { Reply } from "../response/reply.ts";
import { compressedResult, withUncodedTags } from "./compression.ts";
import type { Service, ServiceOptions } from "../service/service.ts";
import { EarlyPrivilegeCheck } from "./early_privilege.ts";
import { RequestsInFlight } from "./in_flight.ts";
import { lengthError } from "./request_checks.ts";
import { Uploads } from "./uploads.ts";
import { PlanCache } from "../plan_cache/plan_cache.ts";
import type { Snapshot } from "../service/snapshot.ts";
import { version } from "../version.ts";

/** Facts about a request that the `Request` lacks. */
export interface RequestInfo {
  /**
   * Peer address without port; null for Unix sockets. Policies of `rate-limits` that count by address
   * count all requests without one together.
   */
  readonly client?: string | null;
  /**
   * Keeps the runtime running until the promise settles, even after the response: a Worker's
   * `ctx.waitUntil`. Without it, a load of the schema cache may delay a response.
   */
  readonly waitUntil?: (work: Promise<void>) => void;
  /** The server sets `Content-Length` if the whole body is in memory. Default: false. */
  readonly setsContentLength?: boolean;
}

/** Makes the function that handles requests with a service. It never rejects. */
export function serviceHandler(
  service: Service,
  loading: ServiceOptions["loading"] = "shared",
): (request: Request, info?: RequestInfo) => Promise<Response> {
  const serverHeader = `${service.dialect.productToken}/${version}`;
  const missingTrace = service.dialect.missingTrace === "empty" ? "" : null;
  const untraced: HeaderList = [["Server", serverHeader]];
  const contextOf = cachedContext(service);
  let encoders: BodyEncoders | null = null;
  return async function handle(request, info = {}) {
    const time = service.now();
    const { snapshot } = service;
    const { serverTraceHeader, serverCorsAllowedOrigins, jwtCookieName } = snapshot.config;
    const trace = serverTraceHeader === null
      ? null
      : request.headers.get(serverTraceHeader) ?? missingTrace;
    const own = ownHeaders(snapshot.config, untraced, trace);
    const received = readRawRequest(request);
    const credential = readCredential({
      authorization: received.headers["authorization"] ?? null,
      cookie: () => request.headers.get("cookie"),
    }, jwtCookieName);
    const pieces = withUncodedTags(withMaskedCookie(received, jwtCookieName), snapshot.config);
    const refusal = lengthError(request, pieces, snapshot.config);
    const preflight = refusal === null ? preflightHeaders(request, serverCorsAllowedOrigins) : null;
    if (preflight !== null) {
      const headers = headersInit(sentHeaders(own, preflight, []));
      return new Response(null, { status: 200, headers });
    }
    const statements: Statement[] | null = snapshot.config.logQuery ? [] : null;
    if (!isHostHeader(pieces.headers["host"] ?? null)) return badHostResponse(headersInit(own));
    const client = lazyClient(info, pieces, snapshot);
    const context = contextOf(snapshot);
    const scope = info.waitUntil === undefined ? noScope : { waitUntil: info.waitUntil };
    const input = { context, scope, statements, client, credential, refusal };
    const result = compressedResult(await runPipeline(request, pieces, input), pieces, {
      request,
      config: snapshot.config,
      encoders: () => encoders ??= bodyEncoders(),
    });
    if (statements !== null) reportStatements(service, statements, result.reply.status);
    const cors = pieces.headers["origin"] === undefined
      ? noHeaders
      : actualHeaders(request, serverCorsAllowedOrigins, {
        areRequestsLimited: snapshot.rateLimits !== null,
      });
    report(service, request, { result, time, client });
    const reload = service.reloadIfStale(result.error);
    if (reload !== null && info.waitUntil !== undefined) info.waitUntil(reload);
    else if (reload !== null && loading === "unshared") await reload;
    return toResponse(request, result, {
      headers: sentHeaders(own, withCookieHeaders(result.reply, jwtCookieName, credential), cors),
      setsContentLength: info.setsContentLength ?? false,
    });
  };
}

/** Returns the headers of every response. */
function ownHeaders(
  { serverTraceHeader, jwtCookieName }: Snapshot["config"],
  untraced: HeaderList,
  trace: string | null,
): HeaderList {
  if ((serverTraceHeader === null || trace === null) && jwtCookieName === null) return untraced;
  return [
    ...untraced,
    ...(serverTraceHeader === null || trace === null ? [] : [[serverTraceHeader, trace] as const]),
    ...(jwtCookieName === null ? [] : [["Vary", "Cookie"] as const]),
  ];
}

/** Hides the token in the cookie from database code, which may show all cookies of a request. */
function withMaskedCookie(pieces: RawRequest, cookieName: string | null): RawRequest {
  if (cookieName === null) return pieces;
  return { ...pieces, cookies: maskCookie(pieces.cookies, cookieName) };
}

/** Keeps shared caches from serving the response to a request with another cookie. */
function withCookieHeaders(
  { headers }: Reply,
  cookieName: string | null,
  { source }: Credential,
): HeaderList {
  if (cookieName === null) return headers;
  const varied = withVary(headers, "Cookie");
  if (source !== "cookie" || hasHeader("Cache-Control", varied)) return varied;
  return [...varied, ["Cache-Control", "private"]];
}

/** Makes the function that returns the pipeline's context of a snapshot. */
function cachedContext(service: Service): (snapshot: Snapshot) => PipelineContext {
  const uploads = new Uploads({
    database: service.database,
    space: service.database.bodySpool?.space ?? new SpoolSpace(),
  });
  const inFlight = new RequestsInFlight();
  const earlyPrivilege = new EarlyPrivilegeCheck(service.database, service.now);
  const rateLimited = service.metricRegistry.counter(rateLimitedCounter);
  const contextOf = (snapshot: Snapshot, planCache: PlanCache): PipelineContext => {
    const { bodySpool } = service.database;
    if (bodySpool !== undefined) bodySpool.maxFileBytes = snapshot.config.serverSpoolSize;
    return {
      uploads,
      inFlight,
      earlyPrivilege,
      snapshot,
      planCache,
      database: service.database,
      dialect: service.dialect,
      now: service.now,
      retryAfter: () => service.retryAfter(),
      traceStage: service.traceStage,
      onRateLimited: (policy) => rateLimited.increment(policy),
    };
  };
  let context = contextOf(service.snapshot, new PlanCache(service.snapshot));
  return (snapshot) => {
    if (snapshot === context.snapshot) return context;
    const { planCache } = context;
    context = contextOf(snapshot, planCache.isOf(snapshot) ? planCache : new PlanCache(snapshot));
    return context;
  };
}

const rateLimitedCounter = {
  name: "rate_limited_total",
  help: "Requests that a policy of rate-limits refused",
  labels: ["policy"],
} as const;

/** Makes the function that returns the client's address, which it finds at the first call. */
function lazyClient(
  info: RequestInfo,
  { headers }: RawRequest,
  { trustedProxies }: Snapshot,
): () => string | null {
  if (trustedProxies === null) return () => info.client ?? null;
  let client: string | null | undefined;
  return () => {
    client ??= clientAddress(info.client ?? null, headers, trustedProxies);
    return client;
  };
}

const noHeaders: HeaderList = [];

/** Returns own headers, reply headers and CORS headers. Later ones replace earlier ones. */
function sentHeaders(own: HeaderList, reply: HeaderList, cors: HeaderList): HeaderList {
  const sent: Header[] = [];
  for (const header of own) if (!hasHeader(header[0], reply)) sent.push(header);
  for (const header of reply) if (!hasHeader(header[0], cors)) sent.push(header);
  for (const header of cors) sent.push(header);
  return sent;
}

/**
 * Returns headers for a `Response`: an object, which runtimes process faster, or a list if a header
 * occurs more than once. `omitsLength` leaves `Content-Length` to the server.
 */
function headersInit(headers: HeaderList, omitsLength = false): HeadersInit {
  const init: Record<string, string> = {};
  for (const [name, value] of headers) {
    if (omitsLength && name === "Content-Length") continue;
    // True also for names on the prototype of all objects, which need the list as well.
    if (name in init) return headers.map(([...header]) => header);
    init[name] = value;
  }
  return init;
}

function hasHeader(expected: string, headers: HeaderList): boolean {
  for (const [name] of headers) {
    if (name.length !== expected.length) continue;
    if (name.toLowerCase() === expected.toLowerCase()) return true;
  }
  return false;
}

/** Returns the error response to a request that reaches no service, with the error's details. */
export function errorResponseTo(request: Request, error: ServiceError, dialect: Dialect): Response {
  const { status, headers, body } = errorResponse(error, {
    dialect: { ...dialect, serverDetails: "sent" },
    verbosity: "verbose",
    retryAfter: null,
  });
  return new Response(request.method === "HEAD" ? null : body, {
    status,
    headers: [
      ["Server", `${dialect.productToken}/${version}`],
      ...headers.map(([...pair]) => pair),
    ],
  });
}

function toResponse(
  request: Request,
  { reply }: PipelineResult,
  { headers, setsContentLength }: {
    readonly headers: HeaderList;
    readonly setsContentLength: boolean;
  },
): Response {
  const { status, statusText = "", content } = reply;
  const isHead = request.method === "HEAD";
  if (isHead && content instanceof ReadableStream) content.cancel().catch(() => {});
  const body = isHead ? null : content as BodyInit | null;
  const omitsLength = setsContentLength && body instanceof Uint8Array;
  return new Response(body, { status, statusText, headers: headersInit(headers, omitsLength) });
}

function report(
  service: Service,
  request: Request,
  { result, time, client }: {
    readonly result: PipelineResult;
    readonly time: number;
    readonly client: () => string | null;
  },
): void {
  const { reply, thrown, error, advice, targetNameUses } = result;
  if (error !== null) service.handleFailure(thrown);
  const reason = error?.fields.shedReason;
  if (reason !== undefined) service.observe({ kind: "request-shed", reason });
  if (targetNameUses.length > 0) {
    const target = targetOf(request.url);
    const { method } = request;
    service.observe({ kind: "target-names-used", uses: targetNameUses, method, target });
  }
  // A failure that follows from the client's disconnect is not logged.
  if (error !== null && isLoggedFailure(result, service.dialect) && !request.signal.aborted) {
    const kind = reply.status === 504 && error.fields.own ? "pool-timeout" : "request-failed";
    service.observe({ kind, error: errorFacts(error, service.dialect) });
  } else if (error?.fields.code === "X00" && !request.signal.aborted) {
    service.observe({ kind: "unexpected-error", error: thrown });
  }
  if (error !== null && advice !== null && service.dialect.advice === "logged") {
    const { code, message } = errorFacts(error, service.dialect);
    service.observe({ kind: "error-advised", code, message, advice });
  }
  service.observe(new LazyFinishedRequest(request, result, { client, time }));
  reply.failure?.then((cause) => reportAborted(service, request, cause));
}

/** Reports a body that ended early, unless that follows from the client's disconnect. */
function reportAborted(service: Service, request: Request, cause: unknown): void {
  if (request.signal.aborted) return;
  const error = errorFacts(cause, service.dialect);
  const { method, url } = request;
  service.observe({ kind: "response-aborted", method, target: targetOf(url), error });
}

/** Reports the statements of a request. The estimate of a count, the only one with rows, is last. */
function reportStatements(
  service: Service,
  statements: readonly Statement[],
  status: number,
): void {
  const kept = statements.filter(({ use }) => use === "rows");
  const ordered = [...statements.filter(({ use }) => use !== "rows"), ...kept];
  const texts = ordered.map(({ text }) => text);
  service.observe({ kind: "request-queried", status, texts });
}

/** A finished request. It reads its fields on first use, since most requests are not logged. */
class LazyFinishedRequest implements FinishedRequest {
  readonly kind = "request-finished";
  readonly status: number;
  readonly length: number | null;
  readonly role: string | null;
  readonly time: number;
  readonly #request: Request;
  readonly #client: () => string | null;

  constructor(
    request: Request,
    { reply: { status, length }, role }: PipelineResult,
    { client, time }: { readonly client: () => string | null; readonly time: number },
  ) {
    this.status = status;
    this.length = length;
    this.role = role;
    this.time = time;
    this.#request = request;
    this.#client = client;
  }

  get client(): string | null {
    return this.#client();
  }

  get method(): string {
    return this.#request.method;
  }

  get target(): string {
    return targetOf(this.#request.url);
  }

  get referer(): string | null {
    return this.#request.headers.get("referer");
  }

  get userAgent(): string | null {
    return this.#request.headers.get("user-agent");
  }
}

/** Returns path and query of an absolute URL. */
function targetOf(url: string): string {
  const path = url.indexOf("/", url.indexOf("//") + 2);
  return path === -1 ? "/" : url.slice(path);
}
