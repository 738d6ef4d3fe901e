/** The `Server-Timing` response header (https://www.w3.org/TR/server-timing/). @module */

/** Formats durations in ms, in the order of the record: `jwt;dur=0.4, plan;dur=12.0`. */
export function formatServerTiming(durations: Readonly<Record<string, number>>): string {
  return Object.entries(durations)
    .map(([name, milliseconds]) => `${name};dur=${milliseconds.toFixed(1)}`)
    .join(", ");
}
