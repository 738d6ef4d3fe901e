/**
 * The `Server-Timing` response header (https://www.w3.org/TR/server-timing/).
 *
 * @module
 */

/**
 * Writes durations in milliseconds, with one decimal and in the order given.
 *
 * @example
 * ```ts
 * import { formatServerTiming } from "./server_timing.ts";
 *
 * formatServerTiming({ jwt: 0.04, plan: 12 }); // "jwt;dur=0.0, plan;dur=12.0"
 * ```
 */
export function formatServerTiming(durations: Readonly<Record<string, number>>): string {
  return Object.entries(durations)
    .map(([name, milliseconds]) => `${name};dur=${milliseconds.toFixed(1)}`)
    .join(", ");
}
