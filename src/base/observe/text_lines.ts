/** Formats events as lines of text. @module */
import type { CallWords } from "./call_words.ts";
import { type Diagnostic, type FinishedRequest, linesOf } from "./observation.ts";
import { oneLine } from "../lib/printable.ts";

/** Formats events as lines without their line feed. */
export interface LineFormat {
  readonly access: (request: FinishedRequest) => string;
  readonly diagnostic: (event: Diagnostic, epochMs: number) => string;
  /** Formats a statement of a request. */
  readonly query: (text: string, epochMs: number) => string;
}

/**
 * Returns the format of web servers' logs:
 *
 * `<client> - <role> [<time>] "<METHOD> <target> HTTP/1.1" <status> <bytes> "<referer>" "<agent>"`
 *
 * and `<time>: <text>` for other events. An event with several texts has several lines. Times are
 * `dd/Mon/yyyy:HH:MM:SS ±zzzz`. `offsetMinutes` returns the minutes by which local time is ahead of UTC.
 *
 * Text from a client cannot end its field or the line. A backslash escapes quotes and backslashes.
 * Control and format characters, and white space outside quotes, become `\xNN` or `\u{N}`.
 */
export function textLines(
  call: CallWords,
  offsetMinutes: (epochMs: number) => number,
): LineFormat {
  const timeText = (epochMs: number) => timestamp(epochMs, offsetMinutes(epochMs));
  return {
    access: (request) =>
      `${word(request.client)} - ${word(request.role)} [${timeText(request.time)}] ` +
      `"${word(request.method)} ${word(request.target)} HTTP/1.1" ` +
      `${request.status} ${request.length ?? "-"} ` +
      `"${quoted(request.referer)}" "${quoted(request.userAgent)}"`,
    diagnostic: (event, epochMs) => {
      const prefix = `${timeText(epochMs)}: ${event.tenant ? `tenant ${event.tenant}: ` : ""}`;
      return linesOf(event, call).map((line) => prefix + line).join("\n");
    },
    query: (text, epochMs) => `${timeText(epochMs)}: ${oneLine(text)}`,
  };
}

/** Printable ASCII without quotes and backslashes: the fast path for nearly all fields. */
const [plainWord, plainText] = [/^[!#-[\]-~]*$/, /^[ !#-[\]-~]*$/];

/** Escapes a field that is followed by a space. */
function word(value: string | null): string {
  if (value === null || value === "") return "-";
  return plainWord.test(value) ? value : value.replace(/[\p{C}\p{Z}"\\]/gu, escape);
}

/** Escapes a field that is enclosed in quotes. */
function quoted(value: string | null): string {
  if (value === null) return "";
  return plainText.test(value) ? value : value.replace(/[\p{C}\p{Zl}\p{Zp}"\\]/gu, escape);
}

function escape(character: string): string {
  if (character === '"' || character === "\\") return `\\${character}`;
  const code = character.codePointAt(0)!.toString(16);
  return code.length <= 2 ? `\\x${code.padStart(2, "0")}` : `\\u{${code}}`;
}

const months = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");

/** Formats a time in a local time that is ahead of UTC. */
function timestamp(epochMs: number, offsetMinutes: number): string {
  // The time is shifted, so that its UTC fields equal the fields of the local time.
  const local = new Date(epochMs + offsetMinutes * 60_000);
  const day = `${two(local.getUTCDate())}/${months[local.getUTCMonth()]}/${local.getUTCFullYear()}`;
  const time = [local.getUTCHours(), local.getUTCMinutes(), local.getUTCSeconds()].map(two);
  const ahead = Math.abs(offsetMinutes);
  const zone = two(Math.floor(ahead / 60)) + two(ahead % 60);
  return `${day}:${time.join(":")} ${offsetMinutes < 0 ? "-" : "+"}${zone}`;
}

function two(number: number): string {
  return String(number).padStart(2, "0");
}
