/** Counts the events that metrics show. @module */
import type { MetricRegistry } from "./metric_registry.ts";
import type { Observation } from "./observation.ts";

/** Wraps an observer: the registry counts events before the observer receives them. */
export function countedEvents(
  registry: MetricRegistry,
  observe: (event: Observation) => void,
): (event: Observation) => void {
  const { shed, refusals, reconnections, ofKeys } = eventCounters(registry);
  let connections: ConnectionCounts | null = null;
  return function count(event) {
    switch (event.kind) {
      case "request-shed":
        shed.increment(event.reason);
        break;
      case "request-finished":
        if (event.apiKey) ofKeys.increment(event.apiKey);
        if (event.status === 429 || event.status >= 500) refusals.increment(event.code ?? "");
        break;
      case "retrying":
        reconnections.increment("pool");
        break;
      case "listener-retrying":
        reconnections.increment("listener");
        break;
      case "connection-opened":
        connections ??= new ConnectionCounts(registry);
        connections.open++;
        break;
      case "connection-closed":
        connections ??= new ConnectionCounts(registry);
        connections.open--;
        connections.closed.increment(event.reason);
        break;
    }
    observe(event);
  };
}

function eventCounters(registry: MetricRegistry) {
  return {
    shed: registry.counter({
      name: "requests_shed_total",
      help: "Requests refused under overload",
      labels: ["reason"],
    }),
    refusals: registry.counter({
      name: "refusals_total",
      help: "Requests that failed with 429 or a status of 500 and above, by the code of the error",
      labels: ["code"],
    }),
    ofKeys: registry.counter({
      name: "api_key_requests_total",
      help: "Requests with a key of api-keys, by the name of the key",
      labels: ["key"],
    }),
    reconnections: registry.counter({
      name: "reconnections_total",
      help: "Scheduled attempts to connect to the database again",
      labels: ["connection"],
    }),
  };
}

/** Numbers of connections. Only servers that accept connections report them. */
class ConnectionCounts {
  open = 0;
  readonly closed;

  constructor(registry: MetricRegistry) {
    registry.gauge({ name: "connections", help: "Open connections of clients" }, () => [
      [[], this.open],
    ]);
    this.closed = registry.counter({
      name: "connections_closed_total",
      help: "Connections of clients that ended",
      labels: ["reason"],
    });
  }
}
