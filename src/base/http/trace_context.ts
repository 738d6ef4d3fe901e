/** Trace context of a request (W3C Trace Context, level 1, section 3.2). @module */

/** The span that a request belongs to. Identifiers are lower-case hexadecimal digits. */
export interface SpanContext {
  /** 32 digits. */
  readonly traceId: string;
  /** 16 digits. */
  readonly spanId: string;
  /** Two digits; `01` if the caller records the trace. */
  readonly flags: string;
}

/** Matches a `traceparent`. In versions above 00, more fields may follow after a hyphen. */
const traceparent =
  /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/s;

/** Parses a `traceparent` header; null if it is absent or invalid. */
export function parseTraceparent(value: string | null): SpanContext | null {
  if (value === null) return null;
  const [, version, traceId = "", spanId = "", flags = "", more] = traceparent.exec(value) ?? [];
  if (version === undefined || version === "00" && more !== undefined) return null;
  return { traceId, spanId, flags };
}

/** Returns the `traceparent` of a span, in version 00. */
export function traceparentOf({ traceId, spanId, flags }: SpanContext): string {
  return `00-${traceId}-${spanId}-${flags}`;
}

/** Returns the span that OpenTelemetry has opened, else the span of the caller, or null. */
export function spanOf(
  headers: Headers,
  { activeSpan }: { readonly activeSpan: (() => SpanContext | null) | null },
): SpanContext | null {
  return activeSpan?.() ?? parseTraceparent(headers.get("traceparent"));
}
