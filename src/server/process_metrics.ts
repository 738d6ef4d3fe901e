/** Metrics of the process, by the names of Prometheus' client libraries. @module */
import { readdirSync } from "node:fs";
import process from "node:process";
import { metricText } from "../observe/metric_registry.ts";

/** Returns CPU time, memory, start time and open file descriptors, as far as the system shows them. */
export function processMetricsText(): string {
  const { user, system } = process.cpuUsage();
  const descriptors = countDescriptors();
  return [
    counter("process_cpu_seconds_total", "Total user and system CPU time spent in seconds", {
      value: (user + system) / 1e6,
    }),
    gauge("process_resident_memory_bytes", "Resident memory size in bytes", {
      value: process.memoryUsage.rss(),
    }),
    gauge("process_start_time_seconds", "Start time of the process since unix epoch in seconds", {
      value: performance.timeOrigin / 1000,
    }),
    descriptors === null
      ? ""
      : gauge("process_open_fds", "Number of open file descriptors", { value: descriptors }),
  ].join("");
}

function counter(name: string, help: string, { value }: { readonly value: number }): string {
  return metricText({ name, help }, "counter", [[[], value]]);
}

function gauge(name: string, help: string, { value }: { readonly value: number }): string {
  return metricText({ name, help }, "gauge", [[[], value]]);
}

/** Returns null where the system has no such folder, or Deno does not permit to read it. */
function countDescriptors(): number | null {
  try {
    // The open folder itself is one of the entries.
    return readdirSync("/proc/self/fd").length - 1;
  } catch {
    return null;
  }
}
