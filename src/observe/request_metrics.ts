/**
 * Metrics of HTTP requests, by the names of OpenTelemetry in the spelling of Prometheus.
 *
 * Source: OpenTelemetry, "Semantic conventions for HTTP metrics".
 *
 * @module
 */
import { Histogram } from "./histogram.ts";
import { metricText, otherLabel } from "./metric_registry.ts";

/** A response, as it is counted. */
export interface CountedResponse {
  readonly method: string;
  /** Path of the schema cache's object, or a name that begins with an underscore. */
  readonly route: string;
  readonly status: number;
  readonly seconds: number;
  /** Bytes of the request's body; null without a body, or if its length is not known. */
  readonly requestBytes: number | null;
  /** Bytes of the response's body; null without a body, or if its length is not known. */
  readonly responseBytes: number | null;
}

/** Upper bounds in seconds: those that OpenTelemetry advises, and shorter ones. */
const secondsBounds = [
  ...[0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075],
  ...[0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10],
];

/** Upper bounds in bytes: 256 bytes, and four times as much each, to 1 GiB. */
const byteBounds = Array.from({ length: 12 }, (_, index) => 256 * 4 ** index);

/** Methods of RFC 9110, PATCH (RFC 5789) and QUERY; others count as `_OTHER`. */
const methods = [
  "_OTHER",
  ...["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH", "QUERY"],
];
const methodNumbers: ReadonlyMap<string, number> = new Map(
  methods.map((method, index) => [method, index]),
);

/** Series of durations. A database can raise any status, so that routes alone do not bound them. */
const maxSeries = 10_000;

/** A number above each status. */
const statusEnd = 1000;

export class RequestMetrics {
  readonly #maxRoutes: () => number;
  readonly #routes: string[] = [otherLabel];
  readonly #routeNumbers = new Map<string, number>([[otherLabel, 0]]);
  readonly #durations = new Histogram({
    help: "Duration of HTTP server requests",
    labels: ["http_request_method", "http_route", "http_response_status_code"],
    bounds: secondsBounds,
  });
  readonly #requestBytes = bytesHistogram("Size of HTTP server request bodies");
  readonly #responseBytes = bytesHistogram("Size of HTTP server response bodies");
  /** Series of durations by route, method and status, as one number. */
  readonly #series = new Map<number, number>();
  /** Series of both histograms of bytes, by method and status. */
  readonly #byteSeries = new Map<number, number>();
  #active = 0;

  /** `maxRoutes` returns the number of routes that have a name of their own. */
  constructor(maxRoutes: () => number) {
    this.#maxRoutes = maxRoutes;
  }

  /** A request has arrived. The caller calls {@linkcode end} once. */
  begin(): void {
    this.#active++;
  }

  /** A request has ended. */
  end(): void {
    this.#active--;
  }

  record({ method, route, status, seconds, requestBytes, responseBytes }: CountedResponse): void {
    const number = methodNumbers.get(method) ?? 0;
    this.#durations.record(seconds, this.#seriesOf(this.#routeNumber(route), number, status));
    if (requestBytes === null && responseBytes === null) return;
    const series = this.#byteSeriesOf(number, status);
    if (requestBytes !== null) this.#requestBytes.record(requestBytes, series);
    if (responseBytes !== null) this.#responseBytes.record(responseBytes, series);
  }

  /** Returns all metrics as text. */
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

  #routeNumber(route: string): number {
    const known = this.#routeNumbers.get(route);
    if (known !== undefined) return known;
    // The names that begin with an underscore are few, and count apart.
    const isOwn = route.startsWith("_");
    if (!isOwn && this.#routes.length > this.#maxRoutes()) return 0;
    this.#routeNumbers.set(route, this.#routes.length);
    return this.#routes.push(route) - 1;
  }

  #seriesOf(route: number, method: number, status: number): number {
    const key = keyOf(route, method, status);
    const known = this.#series.get(key);
    if (known !== undefined) return known;
    if (route !== 0 && this.#series.size >= maxSeries) return this.#seriesOf(0, method, status);
    const labels = [methods[method]!, this.#routes[route]!, String(status)];
    const series = this.#durations.addSeries(labels);
    this.#series.set(key, series);
    return series;
  }

  #byteSeriesOf(method: number, status: number): number {
    const key = keyOf(0, method, status);
    const known = this.#byteSeries.get(key);
    if (known !== undefined) return known;
    const labels = [methods[method]!, String(status)];
    this.#requestBytes.addSeries(labels);
    const series = this.#responseBytes.addSeries(labels);
    this.#byteSeries.set(key, series);
    return series;
  }
}

function keyOf(route: number, method: number, status: number): number {
  return (route * methods.length + method) * statusEnd + status;
}

function bytesHistogram(help: string): Histogram {
  return new Histogram({
    help,
    labels: ["http_request_method", "http_response_status_code"],
    bounds: byteBounds,
  });
}
