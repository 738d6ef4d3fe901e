/** Formats events as lines of JSON, one object per line. @module */
import type { CallWords } from "./call_words.ts";
import { type AccessLogContext, isRequestLogged } from "./access_log.ts";
import { messageOf } from "./logger.ts";
import {
  type Diagnostic,
  type FinishedRequest,
  isLogged,
  type LogLevel,
  severities,
} from "./observation.ts";
import { oneLine, redact } from "./redact.ts";

/**
 * Returns the line of a request without its line feed; null if the level does not log it. The order of
 * members is fixed. Members whose value is null are left out.
 */
export function jsonAccessLine(
  request: FinishedRequest,
  { level, timeText }: AccessLogContext,
): string | null {
  const { status } = request;
  if (!isRequestLogged(status, level)) return null;
  return `{"time":"${timeText(request.time)}","level":"${requestLevel(status)}"` +
    member("client", request.client) +
    member("role", request.role) +
    member("method", request.method) +
    member("target", request.target) +
    member("route", request.route) +
    member("protocol", request.protocol) +
    `,"status":${status}` +
    number("bytes", request.length) +
    number("duration_ms", request.durationMs) +
    number("queue_ms", request.queueMs) +
    number("db_ms", request.databaseMs) +
    member("referer", request.referer) +
    member("user_agent", request.userAgent) +
    member("request_id", request.requestId) +
    member("trace_id", request.traceId) +
    member("span_id", request.spanId) +
    member("code", request.code) +
    member("tenant", request.tenant ?? null) + "}";
}

/** The lowest log level that logs requests with a status. */
function requestLevel(status: number): LogLevel {
  if (status >= 500) return "error";
  return status >= 400 ? "warn" : "info";
}

/** Time and level of a line, and the calls that it advises. */
interface JsonLogContext {
  readonly level: LogLevel;
  readonly epochMs: number;
  readonly call: CallWords;
}

/**
 * Returns the line of a diagnostic event without its line feed: `time`, `level`, `event`, `message`, and
 * the members of the event in alphabetical order. Returns null if the level does not log the event.
 */
export function jsonDiagnosticLine(
  event: Diagnostic,
  { level, epochMs, call }: JsonLogContext,
): string | null {
  if (!isLogged(severities[event.kind], level)) return null;
  return `{"time":"${isoTime(epochMs)}","level":"${diagnosticLevel(event)}"` +
    member("event", event.kind) + member("message", messageOf(event, call)) +
    fieldsOf(event) + "}";
}

/** Returns the line of a statement of a request without its line feed. */
export function jsonQueryLine(text: string, epochMs: number): string {
  return `{"time":"${isoTime(epochMs)}","level":"info","event":"query"` +
    member("message", oneLine(text)) + "}";
}

/**
 * Levels of events that all log levels include, and that report a failure or a risk. The other ones are
 * information.
 */
const failureLevels: Readonly<Partial<Record<Diagnostic["kind"], LogLevel>>> = {
  "blocks-used": "warn",
  "config-reload-failed": "error",
  "connect-failed": "error",
  "connections-exceeded": "warn",
  "database-config-failed": "error",
  "database-silent": "error",
  "declared-key-ignored": "warn",
  "embedded-init-changed": "warn",
  "findings": "warn",
  "legacy-role-path": "warn",
  "listener-cleanup-failed": "warn",
  "listener-failed": "error",
  "listener-retrying": "warn",
  "notification-queue-broken": "warn",
  "notifications-lost": "warn",
  "notifications-unsupported": "warn",
  "pooler-found": "error",
  "recovery-disabled": "error",
  "restart-needed": "warn",
  "standby-excluded": "warn",
  "standbys-unused": "warn",
  "retrying": "warn",
  "schema-cache-failed": "error",
  "schema-missing": "error",
  "statement-refused": "error",
  "statements-unnamed": "warn",
  "target-names-used": "warn",
  "tenant-failed": "error",
  "version-failed": "error",
  "version-unsupported": "error",
  "worker-failed": "error",
  "workers-limited": "warn",
};

function diagnosticLevel(event: Diagnostic): LogLevel {
  const severity = severities[event.kind];
  return severity === "crit" ? failureLevels[event.kind] ?? "info" : severity;
}

/** Members that each line has already, and thrown values, whose text the message shows. */
const otherMembers: ReadonlySet<string> = new Set(["event", "kind", "level", "message", "time"]);

function fieldsOf(event: Diagnostic): string {
  if (event.kind === "unexpected-error") return "";
  return Object.entries(event)
    .filter(([name]) => !otherMembers.has(name))
    .toSorted(([one], [other]) => one < other ? -1 : 1)
    .map(([name, value]) => `,"${snakeCase(name)}":${fieldText(value)}`)
    .join("");
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function fieldText(value: unknown): string {
  const hide = (_: string, inner: unknown) =>
    typeof inner === "string" ? redact(inner.toWellFormed()) : inner;
  return escapeUnprintable(JSON.stringify(value, hide) ?? "null");
}

function member(name: string, value: string | null): string {
  return value === null ? "" : `,"${name}":${jsonText(value)}`;
}

/** Writes at most three decimals. */
function number(name: string, value: number | null): string {
  return value === null ? "" : `,"${name}":${Math.round(value * 1000) / 1000}`;
}

/** Printable ASCII without quotes and backslashes: the fast path for nearly all fields. */
const plain = /^[ !#-[\]-~]*$/;

/** Returns a JSON string. Half of a surrogate pair becomes U+FFFD, since strict parsers refuse it. */
function jsonText(value: string): string {
  return plain.test(value) ? `"${value}"` : escapeUnprintable(JSON.stringify(value.toWellFormed()));
}

/** Escapes characters of JSON strings that a terminal obeys, or that end a line for some readers. */
function escapeUnprintable(json: string): string {
  return json.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, (character) =>
    Array.from(
      { length: character.length },
      (_, index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, "0")}`,
    ).join(""));
}

/** Formats a time as RFC 3339 with milliseconds, in UTC. */
function isoTime(epochMs: number): string {
  return new Date(epochMs).toISOString();
}

/** Length of `2026-07-26T06:56:38.` */
const secondLength = 20;

/** Returns a function that formats times as {@linkcode isoTime} does. It keeps the last second's text. */
export function isoTimeFormatter(): (epochMs: number) => string {
  let second = NaN;
  let text = "";
  return (epochMs) => {
    const current = Math.floor(epochMs / 1000);
    if (current !== second) {
      text = isoTime(epochMs).slice(0, secondLength);
      second = current;
    }
    return `${text}${String(Math.floor(epochMs - current * 1000)).padStart(3, "0")}Z`;
  };
}
