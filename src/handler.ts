/**
 * The edge: a `Request` in, a `Response` out, and a word to the observer.
 *
 * @module
 */
import { actualHeaders, preflightHeaders } from "./http/cors.ts";
import type { Dialect } from "./dialect.ts";
import { errorFacts, errorResponse } from "./errors/error_response.ts";
import type { ServiceError } from "./errors/service_error.ts";
import { answer, isDatabaseFailure, type Outcome } from "./pipeline.ts";
import { type HeaderList, mergeHeaders } from "./response/overrides.ts";
import type { Service, ServiceOptions } from "./service.ts";
import { version } from "./version.ts";

/** What a server knows of a request beside the request. */
export interface RequestInfo {
  /** Peer address without port; null for Unix sockets. */
  readonly client?: string | null;
  /**
   * Keeps the runtime at work until the promise settles although the response was given: a Worker's
   * `ctx.waitUntil`. Without it a load of the schema cache may delay a response.
   */
  readonly waitUntil?: (work: Promise<void>) => void;
}

/** Makes the function that answers requests with a service. It never rejects. */
export function serviceHandler(
  service: Service,
  loading: ServiceOptions["loading"] = "shared",
): (request: Request, info?: RequestInfo) => Promise<Response> {
  const serverHeader = `${service.dialect.productToken}/${version}`;
  const missingTrace = service.dialect.missingTrace === "empty" ? "" : null;
  return async function handle(request, info = {}) {
    const time = service.now();
    const { snapshot } = service;
    const { serverTraceHeader, serverCorsAllowedOrigins } = snapshot.config;
    const trace = serverTraceHeader === null
      ? null
      : request.headers.get(serverTraceHeader) ?? missingTrace;
    const own: HeaderList = [
      ["Server", serverHeader],
      ...(serverTraceHeader === null || trace === null
        ? []
        : [[serverTraceHeader, trace] as const]),
    ];
    const preflight = preflightHeaders(request, serverCorsAllowedOrigins);
    if (preflight !== null) {
      return new Response(null, { status: 200, headers: headersOf([...own, ...preflight]) });
    }
    const outcome = await answer(request, {
      snapshot,
      database: service.database,
      dialect: service.dialect,
      now: service.now,
      retryAfter: () => service.retryAfter(),
    });
    const headers = headersOf(mergeHeaders(own, outcome.reply.headers));
    for (const [name, value] of actualHeaders(request, serverCorsAllowedOrigins)) {
      headers.set(name, value);
    }
    report(service, request, { outcome, time, client: info.client ?? null });
    const refreshing = service.refresh(outcome.error);
    if (refreshing !== null && info.waitUntil !== undefined) info.waitUntil(refreshing);
    else if (refreshing !== null && loading === "unshared") await refreshing;
    return respond(request, outcome, headers);
  };
}

function headersOf(list: HeaderList): Headers {
  const headers = new Headers();
  for (const [name, value] of list) headers.append(name, value);
  return headers;
}

/** The response to a request that reaches no service. */
export function refuse(request: Request, error: ServiceError, dialect: Dialect): Response {
  const verbosity = "verbose";
  const { status, headers, body } = errorResponse(error, { dialect, verbosity, retryAfter: null });
  return new Response(request.method === "HEAD" ? null : body, {
    status,
    headers: [
      ["Server", `${dialect.productToken}/${version}`],
      ...headers.map(([...pair]) => pair),
    ],
  });
}

function respond(request: Request, { reply }: Outcome, headers: Headers): Response {
  const { status, statusText, content } = reply;
  const bodiless = request.method === "HEAD";
  if (bodiless && content instanceof ReadableStream) content.cancel().catch(() => {});
  return new Response(bodiless ? null : content as BodyInit | null, {
    status,
    headers,
    ...(statusText === undefined ? {} : { statusText }),
  });
}

function report(
  service: Service,
  request: Request,
  { outcome, time, client }: {
    readonly outcome: Outcome;
    readonly time: number;
    readonly client: string | null;
  },
): void {
  const { reply, thrown, error } = outcome;
  // What fails because the client has left is no failure.
  if (error !== null && isDatabaseFailure(outcome) && !request.signal.aborted) {
    service.observe({ kind: "request-failed", error: errorFacts(error, service.dialect) });
    if (error.facts.own && reply.status === 503) service.recover();
  } else if (error?.facts.code === "X00" && !request.signal.aborted) {
    service.observe({ kind: "unexpected-error", error: thrown });
  }
  service.observe({
    kind: "request-finished",
    method: request.method,
    target: targetOf(request.url),
    status: reply.status,
    length: reply.length,
    role: outcome.role,
    client,
    referer: request.headers.get("referer"),
    userAgent: request.headers.get("user-agent"),
    time,
  });
}

/** Path and query of an absolute URL. */
function targetOf(url: string): string {
  const path = url.indexOf("/", url.indexOf("//") + 2);
  return path === -1 ? "/" : url.slice(path);
}
