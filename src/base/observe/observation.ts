/** The events that the service reports. @module */
import type { ShedReason } from "../errors/service_error.ts";
import { type LogLevel, logLevels } from "../log_level.ts";
import type { CallWords } from "./call_words.ts";
import type { DiagnosticRow } from "./diagnostic_row.ts";
import { diagnostics } from "./diagnostics.ts";

/** A finished request. Its texts are unchanged client input. */
export interface FinishedRequest {
  readonly kind: "request-finished";
  readonly method: string;
  /** Path and query string. */
  readonly target: string;
  readonly status: number;
  /** `Content-Length`, if the response has one. */
  readonly length: number | null;
  /** Null when authentication failed. */
  readonly role: string | null;
  /** Address without port; null for Unix sockets. */
  readonly client: string | null;
  readonly referer: string | null;
  readonly userAgent: string | null;
  /** Time of arrival, in epoch milliseconds. */
  readonly time: number;
  /** Milliseconds from the arrival to the head of the response. */
  readonly durationMs: number;
  /** `/`, `/<relation>` or `/rpc/<function>` of the schema cache, or `_unknown`. */
  readonly route: string;
  /** `HTTP/1.1`; null where the server does not show the version. */
  readonly protocol: string | null;
  /** Milliseconds in the queue of the pool; null if the log does not need them. */
  readonly queueMs: number | null;
  /** Milliseconds of the transaction without {@linkcode queueMs}; null if the log does not need them. */
  readonly databaseMs: number | null;
  /** Value of the header that `server-request-id-header` names; null if the option is not set. */
  readonly requestId: string | null;
  /** Trace of the request: of OpenTelemetry if it is on, else of the `traceparent` header. */
  readonly traceId: string | null;
  readonly spanId: string | null;
  /** Code of the error that the client received: `SVC116`, `42501`. */
  readonly code: string | null;
  /** Name of the operation that `operations` permits. Default: null, without the option. */
  readonly operation?: string | null;
  /** Name of the tenant. Default: null, without tenants. */
  readonly tenant?: string | null;
  /** Name of the API key. Default: null, for a request without a key. */
  readonly apiKey?: string | null;
}

/** Statements of a request, without values. Reported before the `request-finished` event. */
export interface QueriedRequest {
  readonly kind: "request-queried";
  readonly status: number;
  /** SQL with `$1` …, one text per statement. */
  readonly texts: readonly string[];
}

/** An event that only metrics count. */
type CountedEvent =
  /** A limit refused a request under overload. */
  | { readonly kind: "request-shed"; readonly reason: ShedReason }
  /** A client has connected. Not reported if `Deno.serve` accepts the connections. */
  | { readonly kind: "connection-opened" }
  | { readonly kind: "connection-closed"; readonly reason: ConnectionEnd };

/** `limit`: a new connection needs the place. `client`: the client or a shutdown has ended it. */
export type ConnectionEnd = "client" | "header" | "body" | "idle" | "limit";

/** An event. Events never contain a token, a secret or a connection string. `tenant` names the
 * tenant that the event concerns, if the process serves several. */
export type Observation = ServiceEvent & { readonly tenant?: string | null };

type ServiceEvent = DiagnosticEvent | FinishedRequest | QueriedRequest | CountedEvent;

/** Events of the diagnostic log. Finished requests are logged by the access log instead, and some
 * events are only counted by metrics. */
export type Diagnostic = DiagnosticEvent & { readonly tenant?: string | null };

type DiagnosticEvent = {
  [Kind in keyof typeof diagnostics]:
    & { readonly kind: Kind }
    & Readonly<Parameters<(typeof diagnostics)[Kind]["text"]>[0]>;
}[keyof typeof diagnostics];

/** A write that an agent has requested by a tool. */
export type AgentWrite = Extract<DiagnosticEvent, { readonly kind: "agent-write" }>;

/** Returns whether `level` logs events of `severity`. */
export function isLogged(severity: LogLevel, level: LogLevel): boolean {
  return logLevels.indexOf(severity) <= logLevels.indexOf(level);
}

/** Returns whether the diagnostic log has a line for events of this kind. */
export function isDiagnostic(event: Observation): event is Diagnostic {
  return Object.hasOwn(diagnostics, event.kind);
}

/** Returns the lines of an event, without their time. */
export function linesOf(event: Diagnostic, call: CallWords): readonly string[] {
  const text = diagnostics[event.kind].text as DiagnosticRow<Diagnostic>["text"];
  return [text(event, call)].flat();
}
