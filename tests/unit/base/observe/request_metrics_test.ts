import { deepStrictEqual, match, ok, strictEqual } from "node:assert/strict";
import {
  type CountedResponse,
  RequestMetrics,
} from "../../../../src/base/observe/request_metrics.ts";

const read: CountedResponse = {
  method: "GET",
  route: "/items",
  status: 200,
  seconds: 0.002,
  requestBytes: null,
  responseBytes: 100,
};

/** Returns the samples of a metric: its labels and values. */
function samples(metrics: RequestMetrics, name: string): ReadonlyMap<string, string> {
  const lines = metrics.text().split("\n").filter((line) => line.startsWith(`${name}{`));
  return new Map(lines.map((line) => {
    const end = line.indexOf("} ");
    return [line.slice(name.length + 1, end), line.slice(end + 2)];
  }));
}

const duration = "http_server_request_duration_seconds";
const labels = (method: string, route: string, status: number) =>
  `http_request_method="${method}",http_route="${route}",http_response_status_code="${status}"`;

Deno.test("RequestMetrics counts durations in cumulative buckets", () => {
  const metrics = new RequestMetrics();
  for (const seconds of [0.0004, 0.0005, 0.002, 0.3, 99]) metrics.record({ ...read, seconds });
  const buckets = samples(metrics, `${duration}_bucket`);
  const at = (le: string) => buckets.get(`${labels("GET", "/items", 200)},le="${le}"`);
  deepStrictEqual(
    ["0.0005", "0.001", "0.0025", "0.25", "0.5", "10.0", "+Inf"].map(at),
    ["2.0", "2.0", "3.0", "3.0", "4.0", "4.0", "5.0"],
  );
  strictEqual(buckets.size, 18);
  strictEqual(samples(metrics, `${duration}_count`).get(labels("GET", "/items", 200)), "5.0");
  const sum = Number(samples(metrics, `${duration}_sum`).get(labels("GET", "/items", 200)));
  ok(Math.abs(sum - 99.3029) < 1e-9, String(sum));
});

Deno.test("RequestMetrics keeps series of method, route and status apart", () => {
  const metrics = new RequestMetrics();
  metrics.record(read);
  metrics.record({ ...read, method: "POST", status: 201 });
  metrics.record({ ...read, route: "/rpc/f" });
  metrics.record({ ...read, status: 404, route: "_unknown" });
  metrics.record({ ...read, method: "QUERY" });
  metrics.record({ ...read, method: "BREW" });
  metrics.record({ ...read, method: "get" });
  deepStrictEqual(
    samples(metrics, `${duration}_count`),
    new Map([
      [labels("GET", "/items", 200), "1.0"],
      [labels("POST", "/items", 201), "1.0"],
      [labels("GET", "/rpc/f", 200), "1.0"],
      [labels("GET", "_unknown", 404), "1.0"],
      [labels("QUERY", "/items", 200), "1.0"],
      [labels("_OTHER", "/items", 200), "2.0"],
    ]),
  );
});

Deno.test("RequestMetrics counts routes above the limit as _other, and named ones apart", () => {
  const metrics = new RequestMetrics();
  for (let index = 0; index < 300; index++) metrics.record({ ...read, route: `/r${index}` });
  metrics.record({ ...read, route: "_unknown" });
  metrics.record({ ...read, route: "_health" });
  metrics.record({ ...read, route: "/r0" });
  const counts = samples(metrics, `${duration}_count`);
  strictEqual(counts.size, 200 + 3);
  strictEqual(counts.get(labels("GET", "_other", 200)), "100.0");
  strictEqual(counts.get(labels("GET", "_unknown", 200)), "1.0");
  strictEqual(counts.get(labels("GET", "_health", 200)), "1.0");
  strictEqual(counts.get(labels("GET", "/r0", 200)), "2.0");
});

Deno.test("RequestMetrics bounds the series of a database that raises any status", () => {
  const metrics = new RequestMetrics();
  for (let route = 0; route < 40; route++) {
    for (let status = 200; status < 600; status++) {
      metrics.record({ ...read, route: `/r${route}`, status });
    }
  }
  const counts = samples(metrics, `${duration}_count`);
  ok(counts.size <= 10_400, String(counts.size));
  const sum = Array.from(counts.values(), Number).reduce((one, other) => one + other, 0);
  strictEqual(sum, 16_000);
});

Deno.test("RequestMetrics counts bytes of bodies with a known length", () => {
  const metrics = new RequestMetrics();
  metrics.record({ ...read, responseBytes: 256 });
  metrics.record({ ...read, responseBytes: null });
  metrics.record({ ...read, method: "POST", requestBytes: 5000, responseBytes: null });
  const response = "http_server_response_body_size_bytes";
  const get = `http_request_method="GET",http_response_status_code="200"`;
  const post = `http_request_method="POST",http_response_status_code="200"`;
  strictEqual(samples(metrics, `${response}_count`).get(get), "1.0");
  strictEqual(samples(metrics, `${response}_bucket`).get(`${get},le="256.0"`), "1.0");
  const request = "http_server_request_body_size_bytes";
  strictEqual(samples(metrics, `${request}_sum`).get(post), "5000.0");
});

Deno.test("RequestMetrics shows how many requests are active", () => {
  const metrics = new RequestMetrics();
  metrics.begin();
  metrics.begin();
  metrics.end();
  match(metrics.text(), /^http_server_active_requests 1\.0$/m);
});
