/** Metrics of HTTP requests, by the names of OpenTelemetry ("Semantic conventions for HTTP metrics") in the
 * spelling of Prometheus. @module */
import { Histogram, metricText, otherLabel } from "./metric_registry.ts";

export interface CountedResponse {
  readonly method: string;
  /** Path of an object in the schema cache, or a name that begins with an underscore. */
  readonly route: string;
  readonly status: number;
  readonly seconds: number;
  /** Bytes of the request's body; null without a body, or if its length is not known. */
  readonly requestBytes: number | null;
  /** Bytes of the response's body; null without a body, or if its length is not known. */
  readonly responseBytes: number | null;
}

/** Upper bounds of duration buckets in seconds: those that OpenTelemetry recommends, and shorter ones. */
const secondsBounds = [
  ...[0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075],
  ...[0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10],
];

/** Upper bounds of size buckets: 256 bytes, then four times the previous one, up to 1 GiB. */
const byteBounds = Array.from({ length: 12 }, (_, index) => 256 * 4 ** index);

/** Methods of RFC 9110, PATCH (RFC 5789) and QUERY; other methods become `_OTHER`. */
const methods: ReadonlySet<string> = new Set(
  ["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH", "QUERY"],
);

/** Maximum number of routes with separate series. Other routes are counted as `_other`. */
const maxRoutes = 200;

/** Maximum number of series of durations. A database can raise any status for a route. */
const maxSeries = 10_000;

export class RequestMetrics {
  readonly #routes = new Set<string>();
  readonly #durations = new Histogram({
    help: "Duration of HTTP server requests",
    labels: ["http_request_method", "http_route", "http_response_status_code"],
    bounds: secondsBounds,
  });
  readonly #requestBytes = bytesHistogram("Size of HTTP server request bodies");
  readonly #responseBytes = bytesHistogram("Size of HTTP server response bodies");
  #active = 0;

  /** Records the arrival of a request. The caller calls {@linkcode end} once. */
  begin(): void {
    this.#active++;
  }

  end(): void {
    this.#active--;
  }

  record({ route, seconds, requestBytes, responseBytes, ...response }: CountedResponse): void {
    const method = methods.has(response.method) ? response.method : "_OTHER";
    const status = String(response.status);
    const labels = [method, this.#isNamed(route) ? route : otherLabel, status];
    const isFull = this.#durations.size >= maxSeries && !this.#durations.has(labels);
    this.#durations.record(seconds, isFull ? [method, otherLabel, status] : labels);
    if (requestBytes !== null) this.#requestBytes.record(requestBytes, [method, status]);
    if (responseBytes !== null) this.#responseBytes.record(responseBytes, [method, status]);
  }

  text(): string {
    const active = {
      name: "http_server_active_requests",
      help: "Number of HTTP server requests in progress",
    };
    return this.#durations.text("http_server_request_duration_seconds") +
      metricText(active, "gauge", [[[], this.#active]]) +
      this.#requestBytes.text("http_server_request_body_size_bytes") +
      this.#responseBytes.text("http_server_response_body_size_bytes");
  }

  /** Returns whether a route has its own series. Names that begin with an underscore always have
   * one, as they are few. */
  #isNamed(route: string): boolean {
    if (route.startsWith("_") || this.#routes.has(route)) return true;
    if (this.#routes.size >= maxRoutes) return false;
    this.#routes.add(route);
    return true;
  }
}

function bytesHistogram(help: string): Histogram {
  return new Histogram({
    help,
    labels: ["http_request_method", "http_response_status_code"],
    bounds: byteBounds,
  });
}
