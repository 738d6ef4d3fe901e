import { match, ok, strictEqual } from "node:assert/strict";
import { MetricRegistry } from "../../../../src/base/observe/metric_registry.ts";
import { version } from "../../../../src/base/version.ts";
import { registerServiceMetrics } from "../../../../src/state/app_state/service_metrics.ts";

const pool = { max: 10, open: 3, inUse: 1, waiting: 4, timeouts: 5 };

function textOf(counts: typeof pool): string {
  const registry = new MetricRegistry();
  registerServiceMetrics(registry, {
    dialect: { name: "svc" },
    database: { counts: () => counts },
    snapshot: {
      auth: { cache: { counts: () => ({ lookups: 6, hits: 7, evictions: 8 }) } },
      serverVersion: "PostgreSQL 15.18",
    },
  });
  return registry.text("svc");
}

const lines = [
  "svc_db_pool_timeouts_total 5.0",
  "svc_db_pool_available 2.0",
  "svc_db_pool_waiting 4.0",
  "svc_db_pool_max 10.0",
  "svc_db_pool_in_use 1.0",
  `svc_build_info{version="${version}",dialect="svc",postgres="15.18"} 1.0`,
  "svc_jwt_cache_requests_total 6.0",
  "svc_jwt_cache_hits_total 7.0",
  "svc_jwt_cache_evictions_total 8.0",
];

Deno.test("registerServiceMetrics() writes each metric with its help and type", () => {
  const text = textOf(pool);
  for (const line of lines) ok(text.includes(`${line}\n`), line);
  match(
    text,
    /^# HELP svc_jwt_cache_hits_total The total number of JWT cache hits\n# TYPE svc_jwt_cache_hits_total counter\n/m,
  );
  strictEqual(text.match(/^# HELP /gm)?.length, 9);
  ok(text.endsWith("\n"));
});

Deno.test("registerServiceMetrics() writes no negative value", () => {
  const text = textOf({ ...pool, open: 0, inUse: 2 });
  ok(text.includes("svc_db_pool_available 0.0\n"));
});
