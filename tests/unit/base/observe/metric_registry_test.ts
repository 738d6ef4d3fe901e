import { match, strictEqual } from "node:assert/strict";
import { MetricRegistry } from "../../../../src/base/observe/metric_registry.ts";

const shed = { name: "requests_shed_total", help: "Requests refused", labels: ["reason"] } as const;

Deno.test("Counter counts per set of label values", () => {
  const registry = new MetricRegistry();
  registry.counter(shed).increment("queue");
  registry.counter(shed).increment("queue");
  registry.counter(shed).increment("requests");
  strictEqual(
    registry.text("svc"),
    "# HELP svc_requests_shed_total Requests refused\n" +
      "# TYPE svc_requests_shed_total counter\n" +
      'svc_requests_shed_total{reason="queue"} 2.0\n' +
      'svc_requests_shed_total{reason="requests"} 1.0\n',
  );
});

Deno.test("Counter without labels shows 0 before the first event", () => {
  const registry = new MetricRegistry();
  const counter = registry.counter({ name: "logins_total", help: "Logins" });
  match(registry.text("svc"), /^svc_logins_total 0\.0$/m);
  counter.increment();
  match(registry.text("svc"), /^svc_logins_total 1\.0$/m);
});

Deno.test("Counter keeps the values of two labels apart", () => {
  const registry = new MetricRegistry();
  const counter = registry.counter({ name: "x_total", help: "X", labels: ["a", "b"] });
  counter.increment("1", "23");
  counter.increment("12", "3");
  match(registry.text("p"), /^p_x_total\{a="1",b="23"\} 1\.0$/m);
  match(registry.text("p"), /^p_x_total\{a="12",b="3"\} 1\.0$/m);
});

Deno.test("Counter counts further label sets as _other when it has a thousand", () => {
  const registry = new MetricRegistry();
  const counter = registry.counter(shed);
  for (let index = 0; index < 1500; index++) counter.increment(`reason ${index}`);
  counter.increment("reason 999");
  const text = registry.text("svc");
  strictEqual(text.split("\n").length, 2 + 1001 + 1);
  match(text, /^svc_requests_shed_total\{reason="_other"\} 500\.0$/m);
  match(text, /^svc_requests_shed_total\{reason="reason 999"\} 2\.0$/m);
});

Deno.test("MetricRegistry escapes quotes, backslashes and line feeds of label values", () => {
  const registry = new MetricRegistry();
  registry.counter(shed).increment('a"b\\c\nd');
  match(registry.text("svc"), /^svc_requests_shed_total\{reason="a\\"b\\\\c\\nd"\} 1\.0$/m);
});

Deno.test("MetricRegistry reads a gauge when it makes the text", () => {
  const registry = new MetricRegistry();
  let open = 1;
  registry.gauge({ name: "connections", help: "Open connections" }, () => [[[], open]]);
  match(registry.text("svc"), /^# TYPE svc_connections gauge\nsvc_connections 1\.0$/m);
  open = 2.5;
  match(registry.text("svc"), /^svc_connections 2\.5$/m);
});
