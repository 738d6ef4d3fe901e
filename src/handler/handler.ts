/**
 * Turns a `Request` into a `Response` and reports it to the observer.
 *
 * @module
 */
import type { Statement } from "../database/batch.ts";
import type { Dialect } from "../dialect.ts";
import { errorResponse } from "../errors/error_response.ts";
import type { ServiceError } from "../errors/service_error.ts";
import { clientAddress } from "../http/client_address.ts";
import { actualHeaders, preflightHeaders } from "../http/cors.ts";
import { badHostResponse, isHostHeader } from "../http/host.ts";
import { noScope } from "../auth/remote_key_set.ts";
import type { HeaderList } from "../lib/header_list.ts";
import { SpoolSpace } from "../lib/spool_file.ts";
import { RequestTiming } from "../observe/request_timing.ts";
import { PlanCache } from "../plan_cache/plan_cache.ts";
import type { RawRequest } from "../request/raw_request.ts";
import { type BodyEncoders, bodyEncoders } from "../response/encoders.ts";
import type { RequestService } from "../service/request_service.ts";
import type { ServiceOptions } from "../service/service_options.ts";
import type { Snapshot } from "../service/snapshot.ts";
import { version } from "../version.ts";
import { ColumnPrivileges } from "./column_privileges.ts";
import { withBookmarkHeaders } from "./bookmarks.ts";
import { compressedResult } from "./compression.ts";
import { withCookieHeaders } from "./cookie_headers.ts";
import { type Answer, bodyLength, countedHandler } from "./counted_handler.ts";
import { EarlyPrivilegeCheck } from "./early_privilege.ts";
import { HealthCheck } from "./health_check.ts";
import { RequestsInFlight } from "./in_flight.ts";
import { loadMcp, McpHost } from "./mcp_host.ts";
import type { LoadMcp } from "./mcp_port.ts";
import { type PipelineContext, type PipelineResult, runPipeline } from "./pipeline.ts";
import { reportRequest, reportStatements } from "./report.ts";
import { receive, type ReceivedRequest } from "./received_request.ts";
import { healthRoute, mcpRoute, RouteNames } from "./route_names.ts";
import { addedHeaders, hasHeader, headersInit, noHeaders } from "./sent_headers.ts";
import { Uploads } from "./uploads.ts";

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
  /** Returns true while other clients wait for a connection. Then slow bodies are refused. */
  readonly isContended?: () => boolean;
  /** Path to serve, in place of that of the URL: without the tenant's name. Default: that of the URL. */
  readonly path?: string;
  /** The server sets `Content-Length` if the whole body is in memory. Default: false. */
  readonly setsContentLength?: boolean;
}

/** Makes the function that handles requests with a service. It never rejects. */
export function serviceHandler(
  service: RequestService,
  loading: ServiceOptions["loading"] = "shared",
  load: LoadMcp = loadMcp,
): (request: Request, info?: RequestInfo) => Promise<Response> {
  const { mcpPath } = service.snapshot.config;
  const mcp = mcpPath === null ? null : new McpHost(service, mcpPath, load);
  const answer = answering(service, loading, mcp);
  const { requestMetrics } = service;
  if (requestMetrics !== null) return countedHandler(answer, requestMetrics);
  return async (request, info) => (await answer(request, info)).response;
}

/** Makes the function that answers requests and reports those that are not about HTTP alone. */
function answering(
  service: RequestService,
  loading: ServiceOptions["loading"],
  mcp: McpHost | null,
): (request: Request, info?: RequestInfo) => Promise<Answer> {
  const contextOf = cachedContext(service);
  const health = new HealthCheck(service, loading);
  let encoders: BodyEncoders | null = null;
  return async function answer(request, info = {}) {
    const [time, startedAt] = [service.now(), performance.now()];
    const elapsedMs = () => performance.now() - startedAt;
    const { snapshot } = service;
    const { config } = snapshot;
    const context = contextOf(snapshot);
    const received = receive(request, context, { service, path: info.path });
    const { pieces, credential, identifiers, refusal, sent } = received;
    const isMcp = mcp !== null && mcp.matches(pieces.path);
    const origins = isMcp ? mcp.allowedOrigins(pieces.path) : config.serverCorsAllowedOrigins;
    const early = answerEarly(request, received, { context, health, origins });
    if (early !== null) return { ...await early, durationMs: elapsedMs() };
    const statements: Statement[] | null = config.logQuery ? [] : null;
    const timing = service.isTimed || config.logFormat === "json" ? new RequestTiming() : null;
    const client = lazyClient(info, pieces, snapshot);
    const scope = info.waitUntil === undefined ? noScope : { waitUntil: info.waitUntil };
    const { isContended = null } = info;
    const input = {
      context,
      scope,
      statements,
      client,
      isContended,
      credential,
      refusal,
      identifiers,
      timing,
    };
    const answered = isMcp
      ? mcp.respond(request, pieces, input)
      : runPipeline(request, pieces, input);
    const result = compressedResult(await answered, pieces, {
      request,
      config,
      encoders: () => encoders ??= bodyEncoders(),
    });
    if (statements !== null) reportStatements(service, statements, result.reply.status);
    const cors = pieces.headers["origin"] === undefined || origins === "none"
      ? noHeaders
      : actualHeaders(request, origins, {
        areRequestsLimited: snapshot.rateLimits !== null,
        areWritesKeyed: config.idempotencyTable !== null,
        areTagged: config.etagMode !== "off",
        bookmark: context.bookmarkHeader,
        hasLink: hasHeader("link", result.reply.headers),
        isQuery: hasHeader("accept-query", result.reply.headers),
      });
    const route = isMcp ? mcpRoute : context.routes.of(pieces.path);
    const durationMs = elapsedMs();
    const facts = { time, durationMs, config, client, identifiers, timing, route };
    reportRequest(service, request, { ...facts, result });
    const reload = service.reloadIfStale(result.error);
    if (reload !== null && info.waitUntil !== undefined) info.waitUntil(reload);
    else if (reload !== null && loading === "unshared") await reload;
    const own = withCookieHeaders(result.reply, pieces, config, credential);
    const response = toResponse(request, result, {
      headers: sent(withBookmarkHeaders(own, result.reply, context), cors),
      setsContentLength: info.setsContentLength ?? false,
    });
    const requestBytes = bodyLength(pieces);
    return { response, route, durationMs, reply: result.reply, requestBytes };
  };
}

/** Answers preflights, requests with an invalid host, and health checks; null for others. */
function answerEarly(
  request: Request,
  { pieces, refusal, sent }: ReceivedRequest,
  { context: { snapshot, routes }, health, origins }: {
    readonly context: PipelineContext;
    readonly health: HealthCheck;
    /** Origins that CORS allows. */
    readonly origins: readonly string[] | null | "none";
  },
): Omit<Answer, "durationMs"> | Promise<Omit<Answer, "durationMs">> | null {
  const { serverQueryMethod: takesQuery } = snapshot.config;
  const isAllowed = refusal === null && origins !== "none";
  const preflight = isAllowed ? preflightHeaders(request, origins, { takesQuery }) : null;
  if (preflight !== null) {
    const init = { status: 200, headers: headersInit(sent(preflight)) };
    return { response: new Response(null, init), route: routes.of(pieces.path) };
  }
  if (!isHostHeader(pieces.headers["host"] ?? null)) {
    return { response: badHostResponse(headersInit(sent(noHeaders))) };
  }
  if (refusal !== null || !health.matches(pieces.path)) return null;
  return health.check(pieces).then(({ status, headers }) => ({
    response: new Response(null, { status, headers: headersInit(sent(headers)) }),
    route: healthRoute,
  }));
}

/** Makes the function that returns the pipeline's context of a snapshot. */
function cachedContext(service: RequestService): (snapshot: Snapshot) => PipelineContext {
  const uploads = new Uploads({
    database: service.database,
    space: service.database.bodySpool?.space ?? new SpoolSpace(),
  });
  const inFlight = new RequestsInFlight();
  const earlyPrivilege = new EarlyPrivilegeCheck(service.database, service.now);
  const rateLimited = service.metricRegistry.counter(rateLimitedCounter);
  const replays = service.metricRegistry.counter(replayCounter);
  const batchOperations = service.metricRegistry.counter(batchOperationCounter);
  const failedPreconditions = service.metricRegistry.counter(preconditionCounter);
  const server: HeaderList = [["Server", `${service.dialect.productToken}/${version}`]];
  const bookmarkHeader = service.database.hasStandbys === true
    ? service.dialect.bookmarkHeader
    : null;
  const contextOf = (
    snapshot: Snapshot,
    { planCache, columnPrivileges }: Pick<PipelineContext, "planCache" | "columnPrivileges">,
  ): PipelineContext => {
    const { bodySpool } = service.database;
    if (bodySpool !== undefined) bodySpool.maxFileBytes = snapshot.config.serverSpoolSize;
    return {
      uploads,
      inFlight,
      earlyPrivilege,
      snapshot,
      planCache,
      columnPrivileges,
      database: service.database,
      revocations: service.revocations,
      dialect: service.dialect,
      now: service.now,
      retryAfter: () => service.retryAfter(),
      traceStage: service.traceStage,
      onRateLimited: (policy) => rateLimited.increment(policy),
      onReplayed: () => replays.increment(),
      onBatch: (operations) => {
        batchOperations.add(operations);
        service.setSpanAttribute?.("svc.batch.operations", operations);
      },
      onPreconditionFailed: () => failedPreconditions.increment(),
      bookmarkHeader,
      addedHeaders: addedHeaders(server, snapshot.config, bookmarkHeader),
      routes: new RouteNames(snapshot.cache, snapshot.config),
    };
  };
  const newPlans = (snapshot: Snapshot) => ({
    planCache: new PlanCache(snapshot),
    columnPrivileges: new ColumnPrivileges(service.database),
  });
  let context = contextOf(service.snapshot, newPlans(service.snapshot));
  return (snapshot) => {
    if (snapshot === context.snapshot) return context;
    const isKept = context.planCache.isOf(snapshot);
    context = contextOf(snapshot, isKept ? context : newPlans(snapshot));
    return context;
  };
}

const rateLimitedCounter = {
  name: "rate_limited_total",
  help: "Requests that a policy of rate-limits refused",
  labels: ["policy"],
} as const;

const batchOperationCounter = {
  name: "batch_operations_total",
  help: "Operations of batches",
} as const;

const replayCounter = {
  name: "idempotent_replays_total",
  help: "Requests with an Idempotency-Key that got the answer of an earlier one",
} as const;

const preconditionCounter = {
  name: "precondition_failed_total",
  help: "Requests whose If-Match or If-None-Match did not hold",
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
  const init: ResponseInit & { readonly encodeBody: string } = {
    status,
    statusText,
    headers: headersInit(headers, omitsLength),
    // Keeps Workers from encoding a body that has a `Content-Encoding` once more. Others ignore it.
    encodeBody: "manual",
  };
  return new Response(body, init);
}
