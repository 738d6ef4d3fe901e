import { deepStrictEqual, match, ok } from "node:assert/strict";
import { countedEvents } from "../../../../src/base/observe/counted_events.ts";
import { MetricRegistry } from "../../../../src/base/observe/metric_registry.ts";
import type { Observation } from "../../../../src/base/observe/observation.ts";

Deno.test("countedEvents() counts events, and passes all on", () => {
  const registry = new MetricRegistry();
  const passed: Observation[] = [];
  const observe = countedEvents(registry, (event) => void passed.push(event));
  ok(!registry.text("svc").includes("svc_connections"));
  const events: readonly Observation[] = [
    { kind: "request-shed", reason: "requests" },
    { kind: "config-reloaded" },
    { kind: "connection-opened" },
    { kind: "connection-opened" },
    { kind: "connection-closed", reason: "idle" },
    { kind: "listener-retrying", seconds: 1 },
    ...([[200, null], [404, "SVC125"], [429, "SVC136"], [503, "SVC001"]] as const).map((
      [status, code],
    ) => ({ kind: "request-finished", status, code }) as Observation),
  ];
  for (const event of events) observe(event);
  deepStrictEqual(passed, events);
  const text = registry.text("svc");
  match(text, /^svc_requests_shed_total\{reason="requests"\} 1\.0$/m);
  match(text, /^svc_connections 1\.0$/m);
  match(text, /^svc_reconnections_total\{connection="listener"\} 1\.0$/m);
  deepStrictEqual(
    Array.from(text.matchAll(/^svc_refusals_total\{code="(\w+)"\}/gm), ([, code]) => code),
    ["SVC136", "SVC001"],
  );
  match(text, /^svc_connections_closed_total\{reason="idle"\} 1\.0$/m);
});
