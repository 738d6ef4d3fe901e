/** Answers requests that need no stage: preflights, invalid hosts, health checks. @module */
import { preflightHeaders } from "../http/cors.ts";
import { isHostHeader } from "../http/host.ts";
import type { Reply } from "../response/reply.ts";
import type { RequestService } from "../service/request_service.ts";
import type { ServiceOptions } from "../service/service_options.ts";
import { allowedOrigins, type EarlyAnswer, type Exchange } from "./exchange.ts";
import { emptyReply } from "./headers.ts";
import { HealthCheck } from "./health_check.ts";
import { healthRoute, unknownRoute } from "./route_names.ts";

/** Returns the early answers of a service, in order. The health path is that of the start. */
export function earlyAnswers(
  service: RequestService,
  loading: ServiceOptions["loading"],
): readonly EarlyAnswer[] {
  const common = [answerPreflight, answerInvalidHost];
  const { config } = service.snapshot;
  if (config.serverHealthPath === null) return common;
  return [...common, healthAnswer(new HealthCheck(service, config, loading))];
}

function answerPreflight(exchange: Exchange): Reply | null {
  const { request, refusal, context: { snapshot: { config } } } = exchange;
  if (request.method !== "OPTIONS" || refusal !== null) return null;
  const origins = allowedOrigins(exchange);
  if (origins === "none") return null;
  const headers = preflightHeaders(request, origins, { takesQuery: config.serverQueryMethod });
  return headers === null ? null : emptyReply(200, headers);
}

/** A server builds the request's URL from its `Host`, and takes the text behind a slash for the path. */
function answerInvalidHost(exchange: Exchange): Reply | null {
  if (isHostHeader(exchange.pieces.headers["host"] ?? null)) return null;
  exchange.route = unknownRoute;
  const content = new TextEncoder().encode("Bad Request");
  const headers = [["Content-Type", "text/plain;charset=UTF-8"]] as const;
  return { status: 400, headers, content, length: null };
}

function healthAnswer(health: HealthCheck): EarlyAnswer {
  return (exchange) => {
    const { refusal, pieces } = exchange;
    if (refusal !== null || !health.matches(pieces.path)) return null;
    exchange.route = healthRoute;
    return health.check(pieces);
  };
}
