/**
 * OpenTelemetry traces, through Deno's built-in exporter.
 *
 * @module
 */
import process from "node:process";
import type { TraceStage } from "../observe/stopwatch.ts";
import { version } from "../version.ts";

/**
 * Returns a function that records stages as spans within the span that Deno opens for each request.
 * Returns null unless `OTEL_DENO` is `true` or `1`; the OpenTelemetry package is not loaded then.
 */
export async function stageTracer(): Promise<TraceStage | null> {
  if (!isOn(process.env["OTEL_DENO"])) return null;
  const { trace } = await import("@opentelemetry/api");
  const tracer = trace.getTracer("svc", version);
  return (stage, { start, end }) => tracer.startSpan(stage, { startTime: start }).end(end);
}

function isOn(value: string | undefined): boolean {
  return value === "true" || value === "1";
}
