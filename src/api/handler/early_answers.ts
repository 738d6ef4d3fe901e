/** Answers requests that need no stage: preflights, requests with invalid hosts, health checks. @module */
import { preflightHeaders } from "../../base/http/cors.ts";
import { isHostHeader } from "../../base/http/host.ts";
import type { HeaderList } from "../../base/lib/header_list.ts";
import type { RawRequest } from "../request/raw_request.ts";
import type { Reply } from "../response/reply.ts";
import type { HandlerState } from "../../state/app_state/handler_state.ts";
import type { AppStateOptions } from "../../state/app_state/app_state_options.ts";
import { allowedOrigins, type EarlyAnswer, type Exchange } from "./exchange.ts";
import { emptyReply } from "./headers.ts";
import { healthRoute, unknownRoute } from "./route_names.ts";

/** Returns the early answers of a service, in order. A reload does not change the health path. */
export function earlyAnswers(
  appState: HandlerState,
  loading: AppStateOptions["loading"],
): readonly EarlyAnswer[] {
  const common = [answerPreflight, answerInvalidHost];
  const { config } = appState.snapshot;
  if (config.serverHealthPath === null) return common;
  return [
    ...common,
    healthAnswer(healthCheck(() => appState.isReady(), config.serverHealthPath, loading)),
  ];
}

function answerPreflight(exchange: Exchange): Reply | null {
  const { request, refusal, context: { snapshot: { config } } } = exchange;
  if (request.method !== "OPTIONS" || refusal !== null) return null;
  const origins = allowedOrigins(exchange);
  if (origins === "none") return null;
  const headers = preflightHeaders(request, origins, { takesQuery: config.serverQueryMethod });
  return headers === null ? null : emptyReply(200, headers);
}

/** Rejects an invalid `Host`. Servers build the URL of a request from this header, so that a slash
 * in the header would change the path. */
function answerInvalidHost(exchange: Exchange): Reply | null {
  if (isHostHeader(exchange.raw.headers["host"] ?? null)) return null;
  exchange.route = unknownRoute;
  const content = new TextEncoder().encode("Bad Request");
  const headers = [["Content-Type", "text/plain;charset=UTF-8"]] as const;
  return { status: 400, headers, content, length: null };
}

function healthAnswer(check: HealthCheck): EarlyAnswer {
  return (exchange) => {
    const reply = exchange.refusal === null ? check(exchange.raw) : null;
    if (reply !== null) exchange.route = healthRoute;
    return reply;
  };
}

const uncached: HeaderList = [["Cache-Control", "no-store"]];

/** Answers a health check with 200 or 503; null for other paths. */
export type HealthCheck = (request: Pick<RawRequest, "method" | "path">) => Promise<Reply> | null;

/**
 * Returns the check for `server-health-path`, and for `/live` below it.
 *
 * Requests that arrive during a check share its result, because any client may request a check, and
 * a check may query the database. Where I/O ends with its request, each request runs a separate
 * check.
 */
export function healthCheck(
  isReady: () => Promise<boolean>,
  healthPath: string | null,
  loading: AppStateOptions["loading"],
): HealthCheck {
  let running: Promise<boolean> | null = null;
  const isHealthy = () =>
    loading === "unshared" ? isReady() : running ??= isReady().finally(() => running = null);
  const check = async (method: string, isLive: boolean) => {
    if (method !== "GET" && method !== "HEAD") {
      return emptyReply(405, [["Allow", "GET, HEAD"], ...uncached]);
    }
    return emptyReply(isLive || await isHealthy() ? 200 : 503, uncached);
  };
  return ({ method, path }) => {
    const isLive = path === `${healthPath}/live`;
    return isLive || path === healthPath ? check(method, isLive) : null;
  };
}
