/** Answers requests that need no stage: preflights, invalid hosts, health checks. @module */
import { preflightHeaders } from "../http/cors.ts";
import { isHostHeader } from "../http/host.ts";
import type { Config } from "../config/options.ts";
import type { HeaderList } from "../lib/header_list.ts";
import type { RawRequest } from "../request/raw_request.ts";
import type { Reply } from "../response/reply.ts";
import type { RequestService } from "../service/request_service.ts";
import type { ServiceOptions } from "../service/service_options.ts";
import { allowedOrigins, type EarlyAnswer, type Exchange } from "./exchange.ts";
import { emptyReply } from "./headers.ts";
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

const uncached: HeaderList = [["Cache-Control", "no-store"]];

/** Answers requests for `server-health-path`, and for `/live` below it. */
export class HealthCheck {
  readonly #service: Pick<RequestService, "isReady">;
  readonly #path: string | null;
  readonly #loading: ServiceOptions["loading"];
  #running: Promise<boolean> | null = null;

  /** The path is that of the start: the option is not reloadable. */
  constructor(
    service: Pick<RequestService, "isReady">,
    { serverHealthPath }: Pick<Config, "serverHealthPath">,
    loading: ServiceOptions["loading"],
  ) {
    this.#service = service;
    this.#path = serverHealthPath;
    this.#loading = loading;
  }

  /** Returns whether a raw path is one of the health paths. */
  matches(path: string): boolean {
    const own = this.#path;
    if (own === null || !path.startsWith(own)) return false;
    return path.length === own.length || path.slice(own.length) === live;
  }

  /** Returns 200 or 503. The path must match. */
  async check({ method, path }: Pick<RawRequest, "method" | "path">): Promise<Reply> {
    if (method !== "GET" && method !== "HEAD") {
      return emptyReply(405, [["Allow", "GET, HEAD"], ...uncached]);
    }
    const isHealthy = path !== this.#path || await this.#isReady();
    return emptyReply(isHealthy ? 200 : 503, uncached);
  }

  /**
   * Requests that arrive while a check runs share its result, because a check may query the database
   * and any client may request it. Where work ends with its request, each runs its own.
   */
  async #isReady(): Promise<boolean> {
    if (this.#loading === "unshared") return await this.#service.isReady();
    this.#running ??= this.#service.isReady().finally(() => this.#running = null);
    return await this.#running;
  }
}

const live = "/live";
