/** Turns a `Request` into a `Response`: the edge of the stages. @module */
import type { Dialect } from "../../base/dialect.ts";
import { errorResponse } from "../../base/errors/error_response.ts";
import type { ServiceError } from "../../base/errors/service_error.ts";
import type { Reply } from "../response/reply.ts";
import type { HandlerState } from "../../state/app_state/handler_state.ts";
import type { AppStateOptions } from "../../state/app_state/app_state_options.ts";
import { version } from "../../base/version.ts";
import { cachedContext } from "./context.ts";
import { type Exchange, type PathHost, pathHostOf, type RequestInfo } from "./exchange.ts";
import { toResponse } from "./headers.ts";
import { answer } from "./pipeline.ts";
import { receive } from "./receive.ts";
import type { OpenGuard } from "./exchange.ts";
import { spooled, spooledIfShared } from "./unread.ts";
import { recordRequest, reportOutcome, reportRequest } from "./report.ts";

export type { RequestInfo };

/** Handles a request of the API. */
export type HandleApi = (request: Request, info: RequestInfo) => Promise<Response>;

/** Opens the paths that a wing answers. */
export interface PathOpener {
  /** Opens the host of the paths; null if the configuration does not enable it. */
  readonly openPaths?: (
    appState: HandlerState,
    loading: AppStateOptions["loading"],
  ) => PathHost | null;
  /** Opens the guard of a snapshot. */
  readonly openGuard?: OpenGuard;
}

/** Returns the function that handles requests. It never rejects. Wings may answer some paths. */
export function serviceHandler(
  appState: HandlerState,
  loading: AppStateOptions["loading"] = "shared",
  wings: readonly PathOpener[] = [],
): (request: Request, info?: RequestInfo) => Promise<Response> {
  const pathHosts = wings.flatMap(({ openPaths }) => openPaths?.(appState, loading) ?? []);
  const contextOf = cachedContext(appState, { loading, pathHosts, openGuard: openGuardOf(wings) });
  const { requestMetrics: metrics } = appState;
  return async function handle(request, info = noInfo) {
    metrics?.begin();
    let exchange: Exchange | null = null;
    let reply: Reply | null = null;
    try {
      exchange = receive(request, info, contextOf(appState.snapshot));
      const early = answerEarly(exchange);
      reply = early === null ? finish(exchange, await respond(exchange)) : await early;
      if (early === null && loading === "unshared") await exchange.reload;
      for (const step of exchange.context.headerSteps) reply = step(reply, exchange);
      return toResponse(exchange, reply = spooledIfShared(reply, exchange));
    } finally {
      if (metrics !== null) recordRequest(metrics, { request, exchange, reply });
    }
  };
}

const noInfo: RequestInfo = {};

/** Returns a function that opens the guard of the first wing that has one. */
export function openGuardOf(wings: readonly PathOpener[]): OpenGuard {
  const opening = wings.flatMap(({ openGuard }) => openGuard ?? []);
  return (snapshot) => {
    for (const openGuard of opening) {
      const guard = openGuard(snapshot);
      if (guard !== null) return guard;
    }
    return null;
  };
}

function answerEarly(exchange: Exchange): Reply | Promise<Reply> | null {
  for (const answerOf of exchange.context.earlyAnswers) {
    const reply = answerOf(exchange);
    if (reply !== null) return reply;
  }
  return null;
}

/** Answers a request by the stages, or by a wing. */
function respond(exchange: Exchange): Promise<Reply> {
  return pathHostOf(exchange)?.respond(exchange) ?? answer(exchange);
}

/** Runs the reply steps, and reports the outcome. */
function finish(exchange: Exchange, made: Reply): Reply {
  const { context: { replySteps, appState }, info } = exchange;
  let reply = spooled(made, exchange);
  for (const step of replySteps) reply = step(reply, exchange);
  if (info.isUnlogged) reportOutcome(exchange);
  else reportRequest(exchange, reply);
  const reload = appState.reloadIfStale(exchange.failure?.error ?? null);
  if (reload !== null && info.waitUntil !== undefined) info.waitUntil(reload);
  else exchange.reload = reload;
  return reply;
}

/** Returns the error response, with details, to a request that reaches no service. */
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
