/**
 * The time as logs write it.
 *
 * @module
 */

/** An instant, and how it is told where the process runs. */
export interface Moment {
  /** Milliseconds since 1970, UTC. */
  readonly epochMs: number;
  /** Minutes that the local time is ahead of UTC. */
  readonly offsetMinutes: number;
}

const months = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");

/**
 * Writes `dd/Mon/yyyy:HH:MM:SS ±zzzz`, the format of web servers' logs.
 *
 * ```ts
 * import { strictEqual } from "node:assert/strict";
 *
 * const text = formatMoment({ epochMs: 1778073371000, offsetMinutes: -300 });
 * strictEqual(text, "06/May/2026:08:16:11 -0500");
 * ```
 */
export function formatMoment({ epochMs, offsetMinutes }: Moment): string {
  // The fields of the shifted instant in UTC are those of the local time.
  const local = new Date(epochMs + offsetMinutes * 60_000);
  const day = `${two(local.getUTCDate())}/${months[local.getUTCMonth()]}/${local.getUTCFullYear()}`;
  const time = [local.getUTCHours(), local.getUTCMinutes(), local.getUTCSeconds()].map(two);
  const ahead = Math.abs(offsetMinutes);
  const zone = two(Math.floor(ahead / 60)) + two(ahead % 60);
  return `${day}:${time.join(":")} ${offsetMinutes < 0 ? "-" : "+"}${zone}`;
}

/**
 * Makes a function that writes instants as {@linkcode formatMoment} does and keeps the text of the last
 * second. The offset is asked for once a second.
 */
export function momentWriter(
  offsetMinutes: (epochMs: number) => number,
): (epochMs: number) => string {
  let second = NaN;
  let text = "";
  return (epochMs) => {
    const asked = Math.floor(epochMs / 1000);
    if (asked !== second) {
      text = formatMoment({ epochMs, offsetMinutes: offsetMinutes(epochMs) });
      second = asked;
    }
    return text;
  };
}

function two(number: number): string {
  return String(number).padStart(2, "0");
}
