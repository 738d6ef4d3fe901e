/**
 * Takes every event and writes what the level lets through: requests to one sink, diagnostics to the
 * other.
 *
 * @module
 */
import { accessLine, isRequestLogged } from "./access_log.ts";
import type { LineSink } from "./line_sink.ts";
import { diagnosticLine } from "./logger.ts";
import type { Diagnostic, LogLevel, Observation, QueriedRequest } from "./observation.ts";
import { type Schedule, schedule } from "../lib/timers.ts";
import { oneLine } from "./redact.ts";
import { momentWriter } from "./timestamp.ts";

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
  /** The runtime's unless told. */
  readonly schedule?: Schedule;
}

/** Milliseconds in which timeouts of the pool after the first are told in one line. */
const timeoutsCollapsed = 5000;

/** Makes the function that logs events. */
export function createReporter(options: ReporterOptions): Report {
  const { level, now, offsetMinutes, access, diagnostics } = options;
  const timeText = momentWriter(offsetMinutes);
  const diagnose = (event: Diagnostic) => {
    const epochMs = now();
    const context = { level: level(), epochMs, offsetMinutes: offsetMinutes(epochMs) };
    const line = diagnosticLine(event, context);
    if (line !== null) diagnostics.add(line);
  };
  const tellQueries = ({ status, texts }: QueriedRequest) => {
    if (!isRequestLogged(status, level())) return;
    const prefix = timeText(now());
    for (const text of texts) diagnostics.add(`${prefix}: ${oneLine(text)}`);
  };
  const timedOut = collapsed(diagnose, options.schedule ?? schedule);
  return function report(event) {
    if (event.kind === "request-finished") {
      const line = accessLine(event, { level: level(), timeText });
      if (line !== null) access.add(line);
      return;
    }
    if (event.kind === "request-queried") tellQueries(event);
    else if (event.kind === "pool-timeout") timedOut(event);
    else diagnose(event);
  };
}

/** Passes the first event on at once, and the last of those that follow it when the time is over. */
function collapsed(
  pass: (event: Diagnostic) => void,
  schedule: Schedule,
): (event: Diagnostic) => void {
  let waiting = false;
  let last: Diagnostic | null = null;
  return function take(event) {
    if (waiting) {
      last = event;
      return;
    }
    pass(event);
    waiting = true;
    schedule(() => {
      waiting = false;
      if (last !== null) pass(last);
      last = null;
    }, timeoutsCollapsed);
  };
}
