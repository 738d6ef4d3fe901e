/** OpenTelemetry traces, through Deno's built-in exporter. @module */
import process from "node:process";
import type { SpanContext } from "../../base/http/trace_context.ts";
import type { TraceStage } from "../../base/observe/stopwatch.ts";
import { version } from "../../base/version.ts";

export interface Tracing {
  /** Records stages as spans within the span that Deno opens for each request. */
  readonly traceStage: TraceStage;
  /** Sets an attribute of the open span. */
  readonly setSpanAttribute: (name: string, value: number) => void;
  /** Returns the open span, or null. */
  readonly activeSpan: () => SpanContext | null;
}

/** Opens tracing. Loads the OpenTelemetry package if `OTEL_DENO` is `true` or `1`; otherwise
 * resolves with null. */
export async function openTracing(): Promise<Tracing | null> {
  if (!["true", "1"].includes(process.env["OTEL_DENO"] ?? "")) return null;
  const { trace } = await import("@opentelemetry/api");
  const tracer = trace.getTracer("svc", version);
  return {
    traceStage: (stage, { start, end }) => tracer.startSpan(stage, { startTime: start }).end(end),
    setSpanAttribute: (name, value) => void trace.getActiveSpan()?.setAttribute(name, value),
    activeSpan: () => {
      const context = trace.getActiveSpan()?.spanContext();
      if (context === undefined) return null;
      const { traceId, spanId, traceFlags } = context;
      return { traceId, spanId, flags: traceFlags.toString(16).padStart(2, "0") };
    },
  };
}
