/**
 * Turns answered requests into lines of the access log.
 *
 * @module
 */
import type { FinishedRequest, LogLevel } from "./observation.ts";
import { formatMoment } from "./timestamp.ts";

/** The lowest status that each level logs. */
const lowestStatus: Readonly<Record<LogLevel, number>> = {
  crit: Infinity,
  error: 500,
  warn: 400,
  info: 0,
  debug: 0,
};

/** How much is logged, and where the process runs. */
export interface AccessLogContext {
  readonly level: LogLevel;
  /** Minutes that the local time is ahead of UTC. */
  readonly offsetMinutes: number;
}

/**
 * Returns the line of a request, without its line feed, or null when the level leaves it out:
 *
 * `<client> - <role> [<time>] "<METHOD> <target> HTTP/1.1" <status> <bytes> "<referer>" "<agent>"`
 *
 * What a client sent cannot end its field or the line: quotes and backslashes are escaped by a
 * backslash; control and formatting characters, and white space outside quotes, as `\xNN` or `\u{N}`.
 */
export function accessLine(request: FinishedRequest, context: AccessLogContext): string | null {
  if (request.status < lowestStatus[context.level]) return null;
  const moment = { epochMs: request.time, offsetMinutes: context.offsetMinutes };
  const requestLine = `${word(request.method)} ${word(request.target)} HTTP/1.1`;
  return `${word(request.client)} - ${word(request.role)} [${formatMoment(moment)}] ` +
    `"${requestLine}" ${request.status} ${request.length ?? "-"} ` +
    `"${quoted(request.referer)}" "${quoted(request.userAgent)}"`;
}

/** A field that ends at a space. */
function word(value: string | null): string {
  return value === null || value === "" ? "-" : value.replace(/[\p{C}\p{Z}"\\]/gu, escape);
}

/** A field that ends at a quote. */
function quoted(value: string | null): string {
  return value === null ? "" : value.replace(/[\p{C}\p{Zl}\p{Zp}"\\]/gu, escape);
}

function escape(character: string): string {
  if (character === '"' || character === "\\") return `\\${character}`;
  const code = character.codePointAt(0)!.toString(16);
  return code.length <= 2 ? `\\x${code.padStart(2, "0")}` : `\\u{${code}}`;
}
