/**
 * Finds the identifiers of a request.
 *
 * @module
 */
import type { Config } from "../config/options.ts";
import {
  applicationNameOf,
  noIdentifiers,
  type RequestIdentifiers,
  requestIdOf,
} from "../http/request_id.ts";
import { parseTraceparent, type SpanContext } from "../http/trace_context.ts";
import type { RequestService } from "../service/request_service.ts";

/** Returns the identifiers that the configuration demands. */
export function identifiersOf(
  { headers }: Request,
  { serverRequestIdHeader, dbTraceApplicationName }: Pick<
    Config,
    "dbTraceApplicationName" | "serverRequestIdHeader"
  >,
  service: Pick<RequestService, "activeSpan">,
): RequestIdentifiers {
  if (serverRequestIdHeader === null && !dbTraceApplicationName) return noIdentifiers;
  const requestId = serverRequestIdHeader === null
    ? null
    : requestIdOf(headers.get(serverRequestIdHeader));
  if (!dbTraceApplicationName) return { requestId, applicationName: null };
  return { requestId, applicationName: applicationNameOf(spanOf(headers, service), requestId) };
}

/** Returns the span that OpenTelemetry has opened, else that of the caller; null for none. */
export function spanOf(
  headers: Headers,
  { activeSpan }: Pick<RequestService, "activeSpan">,
): SpanContext | null {
  return activeSpan?.() ?? parseTraceparent(headers.get("traceparent"));
}
