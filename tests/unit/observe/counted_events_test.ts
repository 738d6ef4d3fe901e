import { deepStrictEqual, match, ok } from "node:assert/strict";
import { countedEvents } from "../../../src/observe/counted_events.ts";
import { MetricRegistry } from "../../../src/observe/metric_registry.ts";
import type { Observation } from "../../../src/observe/observation.ts";

Deno.test("countedEvents() counts events, and passes all on", () => {
  const registry = new MetricRegistry();
  const passed: Observation[] = [];
  const observe = countedEvents(registry, (event) => void passed.push(event));
  ok(!registry.text("svc").includes("connections"));
  const events: readonly Observation[] = [
    { kind: "request-shed", reason: "requests" },
    { kind: "config-reloaded" },
    { kind: "connection-opened" },
    { kind: "connection-opened" },
    { kind: "connection-closed", reason: "idle" },
  ];
  for (const event of events) observe(event);
  deepStrictEqual(passed, events);
  const text = registry.text("svc");
  match(text, /^svc_requests_shed_total\{reason="requests"\} 1\.0$/m);
  match(text, /^svc_connections 1\.0$/m);
  match(text, /^svc_connections_closed_total\{reason="idle"\} 1\.0$/m);
});
