/**
 * The edge: a `Request` in, a `Response` out, and a word to the observer.
 *
 * @module
 */
import { actualHeaders, preflightHeaders } from "./http/cors.ts";
import { errorFacts } from "./errors/error_response.ts";
import { answer, isDatabaseFailure, type Outcome } from "./pipeline.ts";
import type { Service } from "./service.ts";
import { version } from "./version.ts";

/** What a server knows of a request beside the request. */
export interface RequestInfo {
  /** Peer address without port; null for Unix sockets. */
  readonly client?: string | null;
}

/** Makes the function that answers requests with a service. It never rejects. */
export function serviceHandler(
  service: Service,
): (request: Request, info?: RequestInfo) => Promise<Response> {
  const serverHeader = `${service.dialect.productToken}/${version}`;
  return async function handle(request, info = {}) {
    const time = service.now();
    const { snapshot } = service;
    const { serverTraceHeader, serverCorsAllowedOrigins } = snapshot.config;
    const headers = new Headers([["Server", serverHeader]]);
    const trace = serverTraceHeader === null ? null : request.headers.get(serverTraceHeader);
    if (serverTraceHeader !== null && trace !== null) headers.set(serverTraceHeader, trace);
    const preflight = preflightHeaders(request, serverCorsAllowedOrigins);
    if (preflight !== null) {
      for (const [name, value] of preflight) headers.append(name, value);
      return new Response(null, { status: 200, headers });
    }
    const outcome = await answer(request, {
      snapshot,
      database: service.database,
      dialect: service.dialect,
      now: service.now,
      retryAfter: () => service.retryAfter(),
    });
    for (const [name, value] of outcome.reply.headers) headers.append(name, value);
    for (const [name, value] of actualHeaders(request, serverCorsAllowedOrigins)) {
      headers.set(name, value);
    }
    report(service, request, { outcome, time, client: info.client ?? null });
    return respond(request, outcome, headers);
  };
}

function respond(request: Request, { reply }: Outcome, headers: Headers): Response {
  const { status, statusText, content } = reply;
  const body = request.method === "HEAD" ? null : content as BodyInit | null;
  return new Response(body, {
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
  if (error !== null && isDatabaseFailure(outcome)) {
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
