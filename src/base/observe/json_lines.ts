/** Formats events as lines of JSON, one object per line. @module */
import type { CallWords } from "./call_words.ts";
import { diagnostics } from "./diagnostics.ts";
import { type Diagnostic, type FinishedRequest, linesOf } from "./observation.ts";
import { redact } from "../lib/redact.ts";
import type { LineFormat } from "./text_lines.ts";
import { oneLine } from "../lib/printable.ts";
import type { LogLevel } from "../log_level.ts";

/** Formats events as JSON. Members of diagnostic events are in alphabetical order. */
export function jsonLines(call: CallWords): LineFormat {
  return {
    access: accessLine,
    diagnostic: (event, epochMs) =>
      `{"time":"${timeText(epochMs)}","level":"${diagnostics[event.kind].level}"` +
      member("event", event.kind) +
      member("message", linesOf(event, call).join(" ").trimEnd()) + fieldsOf(event) + "}",
    query: (text, epochMs) =>
      `{"time":"${timeText(epochMs)}","level":"info","event":"query"` +
      member("message", oneLine(text)) + "}",
  };
}

/**
 * Formats a finished request as JSON. Members have a fixed order, and null members are left out.
 */
function accessLine(request: FinishedRequest): string {
  const { status } = request;
  return `{"time":"${timeText(request.time)}","level":"${requestLevel(status)}"` +
    member("client", request.client) +
    member("role", request.role) +
    member("api_key", request.apiKey ?? null) +
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
    member("operation", request.operation ?? null) +
    member("tenant", request.tenant ?? null) + "}";
}

/** Returns the lowest log level that logs requests with a status. */
function requestLevel(status: number): LogLevel {
  if (status >= 500) return "error";
  return status >= 400 ? "warn" : "info";
}

/** Members of events that are not copied into a line, because each line has other members of these
 * names. */
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

/** Returns a JSON string. An unpaired surrogate becomes U+FFFD, since strict parsers reject it. */
function jsonText(value: string): string {
  return plain.test(value) ? `"${value}"` : escapeUnprintable(JSON.stringify(value.toWellFormed()));
}

/** Escapes characters in JSON strings that control a terminal, or that some readers take for the
 * end of a line. */
function escapeUnprintable(json: string): string {
  return json.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, (character) =>
    Array.from(
      { length: character.length },
      (_, index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, "0")}`,
    ).join(""));
}

/** Formats a time as RFC 3339 with milliseconds, in UTC. */
function timeText(epochMs: number): string {
  return new Date(epochMs).toISOString();
}
