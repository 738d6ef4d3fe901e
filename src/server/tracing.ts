/**
 * Traces for OpenTelemetry, through what Deno has built in.
 *
 * @module
 */
import type { TraceStage } from "../observe/stopwatch.ts";
import { version } from "../version.ts";

/**
 * Makes what turns stages into spans within the span that Deno opens for each request; null unless
 * `OTEL_DENO` switches that on, and then nothing of it is even loaded.
 */
export async function stageTracer(): Promise<TraceStage | null> {
  if (!isOn(Deno.env.get("OTEL_DENO"))) return null;
  const { trace } = await import("@opentelemetry/api");
  const tracer = trace.getTracer("svc", version);
  return (stage, { start, end }) => tracer.startSpan(stage, { startTime: start }).end(end);
}

function isOn(value: string | undefined): boolean {
  return value === "true" || value === "1";
}
