/** Formats times for logs. @module */

/** A time and the offset of the local time zone. */
export interface LocalTime {
  /** Epoch milliseconds. */
  readonly epochMs: number;
  /** Minutes by which local time is ahead of UTC. */
  readonly offsetMinutes: number;
}

const months = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");

/**
 * Formats a time as `dd/Mon/yyyy:HH:MM:SS ±zzzz`, the format of web servers' logs.
 *
 * ```ts
 * import { strictEqual } from "node:assert/strict";
 *
 * const text = formatTimestamp({ epochMs: 1778073371000, offsetMinutes: -300 });
 * strictEqual(text, "06/May/2026:08:16:11 -0500");
 * ```
 */
export function formatTimestamp({ epochMs, offsetMinutes }: LocalTime): string {
  // The UTC fields of the shifted time are those of the local time.
  const local = new Date(epochMs + offsetMinutes * 60_000);
  const day = `${two(local.getUTCDate())}/${months[local.getUTCMonth()]}/${local.getUTCFullYear()}`;
  const time = [local.getUTCHours(), local.getUTCMinutes(), local.getUTCSeconds()].map(two);
  const ahead = Math.abs(offsetMinutes);
  const zone = two(Math.floor(ahead / 60)) + two(ahead % 60);
  return `${day}:${time.join(":")} ${offsetMinutes < 0 ? "-" : "+"}${zone}`;
}

/**
 * Returns a function that formats times as {@linkcode formatTimestamp} does. It keeps the text of the
 * last second, and so computes text and offset once a second.
 */
export function timestampFormatter(
  offsetMinutes: (epochMs: number) => number,
): (epochMs: number) => string {
  let second = NaN;
  let text = "";
  return (epochMs) => {
    const current = Math.floor(epochMs / 1000);
    if (current !== second) {
      text = formatTimestamp({ epochMs, offsetMinutes: offsetMinutes(epochMs) });
      second = current;
    }
    return text;
  };
}

function two(number: number): string {
  return String(number).padStart(2, "0");
}
