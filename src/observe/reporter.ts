/**
 * Takes every event and writes what the level lets through: requests to one sink, diagnostics to the
 * other.
 *
 * @module
 */
import { accessLine } from "./access_log.ts";
import type { LineSink } from "./line_sink.ts";
import { diagnosticLine } from "./logger.ts";
import type { LogLevel, Observation } from "./observation.ts";

/** Takes an event. Never raises. */
export type Report = (event: Observation) => void;

/** What a {@linkcode Report} needs. */
export interface ReporterOptions {
  /** Asked for each event, so that a reload of the configuration changes it. */
  readonly level: () => LogLevel;
  /** Milliseconds since 1970, UTC. */
  readonly now: () => number;
  /** Minutes that the local time is ahead of UTC at an instant. */
  readonly offsetMinutes: (epochMs: number) => number;
  readonly access: Pick<LineSink, "add">;
  readonly diagnostics: Pick<LineSink, "add">;
}

/** Makes the function that logs events. */
export function createReporter(options: ReporterOptions): Report {
  const { level, now, offsetMinutes, access, diagnostics } = options;
  return function report(event) {
    if (event.kind === "request-finished") {
      const context = { level: level(), offsetMinutes: offsetMinutes(event.time) };
      const line = accessLine(event, context);
      if (line !== null) access.add(line);
      return;
    }
    const epochMs = now();
    const context = { level: level(), epochMs, offsetMinutes: offsetMinutes(epochMs) };
    const line = diagnosticLine(event, context);
    if (line !== null) diagnostics.add(line);
  };
}
