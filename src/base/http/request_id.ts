/** Identifiers of a request, by which an operator finds its lines in several logs. @module */
import { maxNameBytes } from "../sql/fragment.ts";
import { type SpanContext, traceparentOf } from "./trace_context.ts";

export interface RequestIdentifiers {
  /** Value of the setting `request.id`; null does not set it. */
  readonly requestId: string | null;
  /** Value of `application_name`; null keeps the name of the connection. */
  readonly applicationName: string | null;
}

export const noIdentifiers: RequestIdentifiers = { requestId: null, applicationName: null };

/** Characters of an identifier. White space, quotes and control characters are excluded, so that
 * any log can contain it. */
const requestId = /^[A-Za-z0-9._:/+=-]{1,128}$/;

/** Returns the identifier that a client has sent, or a new UUID (RFC 9562, version 7) for any other text. */
export function requestIdOf(sent: string | null): string {
  return sent !== null && requestId.test(sent) ? sent : uuid();
}

/** Returns a UUID of version 7: the milliseconds since 1970, then random bits. */
function uuid(): string {
  const time = Date.now().toString(16).padStart(12, "0");
  return `${time.slice(0, 8)}-${time.slice(8)}-7${crypto.randomUUID().slice(15)}`;
}

/**
 * Returns `application_name` for a request: it names the request's span, or else its identifier.
 */
export function applicationNameOf(
  span: SpanContext | null,
  requestId: string | null,
): string | null {
  const identifier = span === null ? requestId : traceparentOf(span);
  return identifier === null ? null : `svc ${identifier}`.slice(0, maxNameBytes);
}
