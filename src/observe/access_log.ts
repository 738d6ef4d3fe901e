/**
 * Turns answered requests into lines of the access log.
 *
 * @module
 */
import type { FinishedRequest, LogLevel } from "./observation.ts";

/** The lowest status that each level logs. */
const lowestStatus: Readonly<Record<LogLevel, number>> = {
  crit: Infinity,
  error: 500,
  warn: 400,
  info: 0,
  debug: 0,
};

/** Whether a level logs requests that were answered with a status. */
export function isRequestLogged(status: number, level: LogLevel): boolean {
  return status >= lowestStatus[level];
}

/** How much is logged, and how the time is told. */
export interface AccessLogContext {
  readonly level: LogLevel;
  /** Writes an instant, in milliseconds since 1970, as the log wants it. */
  readonly timeText: (epochMs: number) => string;
}

/**
 * Returns the line of a request, without its line feed, or null when the level leaves it out:
 *
 * `<client> - <role> [<time>] "<METHOD> <target> HTTP/1.1" <status> <bytes> "<referer>" "<agent>"`
 *
 * What a client sent cannot end its field or the line: quotes and backslashes are escaped by a
 * backslash; control and formatting characters, and white space outside quotes, as `\xNN` or `\u{N}`.
 */
export function accessLine(
  request: FinishedRequest,
  { level, timeText }: AccessLogContext,
): string | null {
  if (!isRequestLogged(request.status, level)) return null;
  const requestLine = `${word(request.method)} ${word(request.target)} HTTP/1.1`;
  return `${word(request.client)} - ${word(request.role)} [${timeText(request.time)}] ` +
    `"${requestLine}" ${request.status} ${request.length ?? "-"} ` +
    `"${quoted(request.referer)}" "${quoted(request.userAgent)}"`;
}

/** Printable ASCII but quotes and backslashes, without the space and with it: nearly all there is. */
const [plainWord, plainText] = [/^[!#-[\]-~]*$/, /^[ !#-[\]-~]*$/];

/** A field that ends at a space. */
function word(value: string | null): string {
  if (value === null || value === "") return "-";
  return plainWord.test(value) ? value : value.replace(/[\p{C}\p{Z}"\\]/gu, escape);
}

/** A field that ends at a quote. */
function quoted(value: string | null): string {
  if (value === null) return "";
  return plainText.test(value) ? value : value.replace(/[\p{C}\p{Zl}\p{Zp}"\\]/gu, escape);
}

function escape(character: string): string {
  if (character === '"' || character === "\\") return `\\${character}`;
  const code = character.codePointAt(0)!.toString(16);
  return code.length <= 2 ? `\\x${code.padStart(2, "0")}` : `\\u{${code}}`;
}
