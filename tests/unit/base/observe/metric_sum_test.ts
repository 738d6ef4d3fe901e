import { strictEqual } from "node:assert/strict";
import {
  Histogram,
  MetricRegistry,
  sumOfMetrics,
} from "../../../../src/base/observe/metric_registry.ts";

/** Returns the metrics of a thread that has refused requests by policies, and waited. */
function metricsOf(policies: readonly string[], waits: readonly number[], open: number): string {
  const registry = new MetricRegistry();
  const refused = registry.counter({ name: "refused_total", help: "Refused", labels: ["policy"] });
  for (const policy of policies) refused.increment(policy);
  registry.gauge({ name: "connections", help: "Open" }, () => [[[], open]]);
  registry.gauge({ name: "age_seconds", help: "Age" }, () => [[[], open]]);
  registry.gauge({ name: "build_info", help: "Build" }, () => [[[], 1]]);
  const queue = new Histogram({ help: "Waits", bounds: [0.1] });
  for (const wait of waits) queue.record(wait);
  return registry.text("svc") + queue.text("svc_queue_seconds");
}

Deno.test("sumOfMetrics() adds counters and histograms, and takes the highest age", () => {
  const texts = [metricsOf(['a "b" c', "x"], [0.1, 0.2], 2), metricsOf(["x", "new"], [0.75], 3)];
  strictEqual(
    sumOfMetrics(texts),
    `# HELP svc_refused_total Refused
# TYPE svc_refused_total counter
svc_refused_total{policy="a \\"b\\" c"} 1.0
svc_refused_total{policy="x"} 2.0
svc_refused_total{policy="new"} 1.0
# HELP svc_connections Open
# TYPE svc_connections gauge
svc_connections 5.0
# HELP svc_age_seconds Age
# TYPE svc_age_seconds gauge
svc_age_seconds 3.0
# HELP svc_build_info Build
# TYPE svc_build_info gauge
svc_build_info 1.0
# HELP svc_queue_seconds Waits
# TYPE svc_queue_seconds histogram
svc_queue_seconds_bucket{le="0.1"} 1.0
svc_queue_seconds_bucket{le="+Inf"} 3.0
svc_queue_seconds_sum ${0.1 + 0.2 + 0.75}
svc_queue_seconds_count 3.0
`,
  );
});

Deno.test("sumOfMetrics() leaves one text as it is", () => {
  const text = metricsOf(["a"], [0.25], 1);
  strictEqual(sumOfMetrics([text]), text);
});
