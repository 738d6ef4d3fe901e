/**
 * Counts the requests of a handler for `/metrics`.
 *
 * @module
 */
import type { RequestMetrics } from "../observe/request_metrics.ts";
import type { RawRequest } from "../request/raw_request.ts";
import type { Reply } from "../response/reply.ts";
import type { RequestInfo } from "./handler.ts";
import { unknownRoute } from "./route_names.ts";

/** A response, and what the metrics need beside it. */
export interface Answer {
  readonly response: Response;
  /** Milliseconds from the arrival of the request. */
  readonly durationMs: number;
  /** Default: {@linkcode unknownRoute}. */
  readonly route?: string;
  /** Absent if the response has no body. */
  readonly reply?: Pick<Reply, "ended" | "length">;
  /** Default: unknown. */
  readonly requestBytes?: number | null;
}

/** Makes a handler that counts each response. A request is active until its body has ended. */
export function countedHandler(
  handle: (request: Request, info?: RequestInfo) => Promise<Answer>,
  metrics: RequestMetrics,
): (request: Request, info?: RequestInfo) => Promise<Response> {
  return async function counted(request, info) {
    metrics.begin();
    let answer: Answer | null = null;
    try {
      answer = await handle(request, info);
      return answer.response;
    } finally {
      const { reply } = answer ?? {};
      const status = answer?.response.status ?? 500;
      if (reply?.ended === undefined) metrics.end();
      else void reply.ended.then(() => metrics.end());
      metrics.record({
        method: request.method,
        route: answer?.route ?? unknownRoute,
        status,
        seconds: (answer?.durationMs ?? 0) / 1000,
        requestBytes: status < 400 ? answer?.requestBytes ?? null : null,
        responseBytes: request.method === "HEAD" ? null : reply?.length ?? null,
      });
    }
  };
}

/** Returns the `Content-Length` of a request; null if it has none. */
export function bodyLength({ headers }: Pick<RawRequest, "headers">): number | null {
  const text = headers["content-length"];
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : null;
}
