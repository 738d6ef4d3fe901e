/** Formats finished requests as lines of the access log. @module */
import type { FinishedRequest, LogLevel } from "./observation.ts";

/** Lowest status that each level logs. */
const lowestStatus: Readonly<Record<LogLevel, number>> = {
  crit: Infinity,
  error: 500,
  warn: 400,
  info: 0,
  debug: 0,
};

/** Returns whether a level logs requests with this response status. */
export function isRequestLogged(status: number, level: LogLevel): boolean {
  return status >= lowestStatus[level];
}

/** Level and time format of the access log. */
export interface AccessLogContext {
  readonly level: LogLevel;
  /** Formats a time, in epoch milliseconds. */
  readonly timeText: (epochMs: number) => string;
}

/**
 * Returns the line of a request without its line feed; null if the level does not log it:
 *
 * `<client> - <role> [<time>] "<METHOD> <target> HTTP/1.1" <status> <bytes> "<referer>" "<agent>"`
 *
 * Text from a client cannot end its field or the line. A backslash escapes quotes and backslashes.
 * Control and format characters, and white space outside quotes, become `\xNN` or `\u{N}`.
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

/** Printable ASCII without quotes and backslashes: the fast path for nearly all fields. */
const [plainWord, plainText] = [/^[!#-[\]-~]*$/, /^[ !#-[\]-~]*$/];

/** Escapes a field that ends at a space. */
function word(value: string | null): string {
  if (value === null || value === "") return "-";
  return plainWord.test(value) ? value : value.replace(/[\p{C}\p{Z}"\\]/gu, escape);
}

/** Escapes a field that ends at a quote. */
function quoted(value: string | null): string {
  if (value === null) return "";
  return plainText.test(value) ? value : value.replace(/[\p{C}\p{Zl}\p{Zp}"\\]/gu, escape);
}

function escape(character: string): string {
  if (character === '"' || character === "\\") return `\\${character}`;
  const code = character.codePointAt(0)!.toString(16);
  return code.length <= 2 ? `\\x${code.padStart(2, "0")}` : `\\u{${code}}`;
}
