/**
 * The edge: a `Request` in, a `Response` out, and a word to the observer.
 *
 * @module
 */
import type { HeaderList } from "../lib/header_list.ts";
import { actualHeaders, preflightHeaders } from "../http/cors.ts";
import { badHostResponse, isHostHeader } from "../http/host.ts";
import type { Statement } from "../database/database.ts";
import type { Dialect } from "../dialect.ts";
import { errorFacts, errorResponse } from "../errors/error_response.ts";
import type { ServiceError } from "../errors/service_error.ts";
import { answer, isLoggedFailure, type Outcome, type PipelineContext } from "./pipeline.ts";
import { requestPieces } from "../request/raw_request.ts";
import type { FinishedRequest } from "../observe/observation.ts";
import type { Header } from "../response/overrides.ts";
import type { Service, ServiceOptions } from "../service/service.ts";
import { PlanCache } from "../plan_cache/plan_cache.ts";
import type { Snapshot } from "../service/snapshot.ts";
import { version } from "../version.ts";

/** What a server knows of a request beside the request. */
export interface RequestInfo {
  /** Peer address without port; null for Unix sockets. */
  readonly client?: string | null;
  /**
   * Keeps the runtime at work until the promise settles although the response was given: a Worker's
   * `ctx.waitUntil`. Without it a load of the schema cache may delay a response.
   */
  readonly waitUntil?: (work: Promise<void>) => void;
  /** The server says how long a body is when it has all of it; false unless told. */
  readonly tellsLength?: boolean;
}

/** Makes the function that answers requests with a service. It never rejects. */
export function serviceHandler(
  service: Service,
  loading: ServiceOptions["loading"] = "shared",
): (request: Request, info?: RequestInfo) => Promise<Response> {
  const serverHeader = `${service.dialect.productToken}/${version}`;
  const missingTrace = service.dialect.missingTrace === "empty" ? "" : null;
  const untraced: HeaderList = [["Server", serverHeader]];
  const contextOf = contexts(service);
  return async function handle(request, info = {}) {
    const time = service.now();
    const { snapshot } = service;
    const { serverTraceHeader, serverCorsAllowedOrigins } = snapshot.config;
    const trace = serverTraceHeader === null
      ? null
      : request.headers.get(serverTraceHeader) ?? missingTrace;
    const own = serverTraceHeader === null || trace === null
      ? untraced
      : [...untraced, [serverTraceHeader, trace] as const];
    const preflight = preflightHeaders(request, serverCorsAllowedOrigins);
    if (preflight !== null) {
      const headers = headersInit(sentHeaders(own, preflight, []));
      return new Response(null, { status: 200, headers });
    }
    const statements: Statement[] | null = snapshot.config.logQuery ? [] : null;
    const pieces = requestPieces(request);
    if (!isHostHeader(pieces.headers["host"] ?? null)) return badHostResponse(headersInit(own));
    const outcome = await answer(request, pieces, { context: contextOf(snapshot), statements });
    if (statements !== null) reportStatements(service, statements, outcome.reply.status);
    const cors = pieces.headers["origin"] === undefined
      ? none
      : actualHeaders(request, serverCorsAllowedOrigins);
    report(service, request, { outcome, time, info });
    const refreshing = service.reloadIfStale(outcome.error);
    if (refreshing !== null && info.waitUntil !== undefined) info.waitUntil(refreshing);
    else if (refreshing !== null && loading === "unshared") await refreshing;
    return respond(request, outcome, {
      headers: sentHeaders(own, outcome.reply.headers, cors),
      tellsLength: info.tellsLength ?? false,
    });
  };
}

/** Makes the function that gives what requests under a snapshot are answered from. */
function contexts(service: Service): (snapshot: Snapshot) => PipelineContext {
  const contextOf = (snapshot: Snapshot, planCache: PlanCache): PipelineContext => ({
    snapshot,
    planCache,
    database: service.database,
    dialect: service.dialect,
    now: service.now,
    retryAfter: () => service.retryAfter(),
    traceStage: service.traceStage,
  });
  let context = contextOf(service.snapshot, new PlanCache(service.snapshot));
  return (snapshot) => {
    if (snapshot === context.snapshot) return context;
    const { planCache } = context;
    context = contextOf(snapshot, planCache.isOf(snapshot) ? planCache : new PlanCache(snapshot));
    return context;
  };
}

const none: HeaderList = [];

/** The service's own headers, unless the reply has them; its headers; those of cross-origin answers. */
function sentHeaders(own: HeaderList, reply: HeaderList, cors: HeaderList): HeaderList {
  const sent: Header[] = [];
  for (const header of own) if (!isNamed(header[0], reply)) sent.push(header);
  for (const header of reply) if (!isNamed(header[0], cors)) sent.push(header);
  for (const header of cors) sent.push(header);
  return sent;
}

/**
 * What `Response` takes: an object, which costs runtimes less than a list, unless a header comes more
 * than once. The length may be left to the server.
 */
function headersInit(headers: HeaderList, leavesLength = false): HeadersInit {
  const init: Record<string, string> = {};
  for (const [name, value] of headers) {
    if (leavesLength && name === "Content-Length") continue;
    // True of names that all objects have, too.
    if (name in init) return headers.map(([...header]) => header);
    init[name] = value;
  }
  return init;
}

function isNamed(wanted: string, headers: HeaderList): boolean {
  for (const [name] of headers) {
    if (name.length === wanted.length && name.toLowerCase() === wanted.toLowerCase()) return true;
  }
  return false;
}

/** Returns the response to a request that reaches no service; the error's details are sent. */
export function refuse(request: Request, error: ServiceError, dialect: Dialect): Response {
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

function respond(
  request: Request,
  { reply }: Outcome,
  { headers, tellsLength }: { readonly headers: HeaderList; readonly tellsLength: boolean },
): Response {
  const { status, statusText = "", content } = reply;
  const bodiless = request.method === "HEAD";
  if (bodiless && content instanceof ReadableStream) content.cancel().catch(() => {});
  const body = bodiless ? null : content as BodyInit | null;
  const isTold = tellsLength && body instanceof Uint8Array;
  return new Response(body, { status, statusText, headers: headersInit(headers, isTold) });
}

function report(
  service: Service,
  request: Request,
  { outcome, time, info }: {
    readonly outcome: Outcome;
    readonly time: number;
    readonly info: RequestInfo;
  },
): void {
  const { reply, thrown, error, targetNameUses } = outcome;
  if (error !== null) service.handleFailure(thrown);
  if (targetNameUses.length > 0) {
    const target = targetOf(request.url);
    const { method } = request;
    service.observe({ kind: "target-names-used", uses: targetNameUses, method, target });
  }
  // What fails because the client has left is no failure.
  if (error !== null && isLoggedFailure(outcome, service.dialect) && !request.signal.aborted) {
    const kind = reply.status === 504 && error.facts.own ? "pool-timeout" : "request-failed";
    service.observe({ kind, error: errorFacts(error, service.dialect) });
  } else if (error?.facts.code === "X00" && !request.signal.aborted) {
    service.observe({ kind: "unexpected-error", error: thrown });
  }
  service.observe(new Finished(request, outcome, { info, time }));
}

/** The estimate of a count is the only statement whose rows are kept, and told last. */
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

/** An answered request; what of it is looked up when it is asked for, as most are not logged. */
class Finished implements FinishedRequest {
  readonly kind = "request-finished";
  readonly status: number;
  readonly length: number | null;
  readonly role: string | null;
  readonly time: number;
  readonly #request: Request;
  readonly #info: RequestInfo;

  constructor(
    request: Request,
    { reply: { status, length }, role }: Outcome,
    { info, time }: { readonly info: RequestInfo; readonly time: number },
  ) {
    this.status = status;
    this.length = length;
    this.role = role;
    this.time = time;
    this.#request = request;
    this.#info = info;
  }

  get client(): string | null {
    return this.#info.client ?? null;
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

/** Path and query of an absolute URL. */
function targetOf(url: string): string {
  const path = url.indexOf("/", url.indexOf("//") + 2);
  return path === -1 ? "/" : url.slice(path);
}
