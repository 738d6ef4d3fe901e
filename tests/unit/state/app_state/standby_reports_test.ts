import { deepStrictEqual, strictEqual } from "node:assert/strict";
import type { ReplicaCounts } from "../../../../src/database/database.ts";
import { MetricRegistry } from "../../../../src/base/observe/metric_registry.ts";
import { registerReplicaMetrics } from "../../../../src/state/app_state/service_metrics.ts";

const counts: ReplicaCounts = {
  standbys: [
    { place: "db2:5432", isServing: true, lagSeconds: 0.25, inFlight: 2, reads: 7 },
    { place: "db3:5432", isServing: false, lagSeconds: null, inFlight: 0, reads: 0 },
  ],
  fallbacks: new Map([["behind", 3]]),
  retries: new Map([["conflict", 1]]),
};

Deno.test("registerReplicaMetrics() shows standbys by host, and counts by reason", () => {
  const registry = new MetricRegistry();
  registerReplicaMetrics(registry, {
    standbys: { observe() {}, isServing: true, counts: () => counts },
  });
  const samples = registry.text("svc").split("\n").filter((line) => /^svc/.test(line));
  deepStrictEqual(samples, [
    'svc_replica_up{host="db2:5432"} 1.0',
    'svc_replica_up{host="db3:5432"} 0.0',
    'svc_replica_lag_seconds{host="db2:5432"} 0.25',
    'svc_replica_in_flight{host="db2:5432"} 2.0',
    'svc_replica_in_flight{host="db3:5432"} 0.0',
    'svc_replica_reads_total{host="db2:5432"} 7.0',
    'svc_replica_reads_total{host="db3:5432"} 0.0',
    'svc_replica_fallbacks_total{reason="behind"} 3.0',
    'svc_replica_retries_total{reason="conflict"} 1.0',
  ]);
});

Deno.test("registerReplicaMetrics() shows nothing without standbys", () => {
  const registry = new MetricRegistry();
  registerReplicaMetrics(registry, {});
  strictEqual(registry.text("svc"), "");
});
