import { strictEqual } from "node:assert/strict";
import { registerLiveMetrics } from "../../../src/observe/live_metrics.ts";
import { MetricRegistry } from "../../../src/observe/metric_registry.ts";

Deno.test("registerLiveMetrics() shows the numbers of the moment and what was counted", () => {
  const registry = new MetricRegistry();
  const size = { streams: 3, groups: 2 };
  const { runs, excluded, polls, delays } = registerLiveMetrics(registry, () => size);
  runs.increment();
  excluded.add(4);
  polls.record(0.002);
  delays.record(0.2);
  size.streams = 5;
  const samples = registry.text("svc").split("\n")
    .filter((line) => line.startsWith("svc_live_") && !line.includes("_bucket"));
  strictEqual(
    samples.join(", "),
    "svc_live_streams 5.0, svc_live_groups 2.0, svc_live_runs_total 1.0, " +
      "svc_live_excluded_total 4.0, svc_live_refetches_total 0.0, svc_live_poll_seconds_sum 0.002, " +
      "svc_live_poll_seconds_count 1.0, svc_live_delay_seconds_sum 0.2, " +
      "svc_live_delay_seconds_count 1.0",
  );
});
