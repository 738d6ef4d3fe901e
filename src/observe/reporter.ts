/**
 * Writes the events of the log level: finished requests to the access log, all others to the
 * diagnostic log.
 *
 * @module
 */
import { accessLine, isRequestLogged } from "./access_log.ts";
import type { CallWords } from "./call_words.ts";
import type { LineSink } from "./line_sink.ts";
import { diagnosticLine } from "./logger.ts";
import {
  type Diagnostic,
  isCounted,
  type LogLevel,
  type Observation,
  type QueriedRequest,
} from "./observation.ts";
import { type Schedule, schedule } from "../lib/timers.ts";
import { oneLine } from "./redact.ts";
import { timestampFormatter } from "./timestamp.ts";

/** Logs an event. Never throws. */
export type Report = (event: Observation) => void;

/** Options of {@linkcode createReporter}. */
export interface ReporterOptions {
  /** Returns the current level. The reporter calls it for each event, since a reload may change it. */
  readonly level: () => LogLevel;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** Returns the minutes by which local time is ahead of UTC at a time. */
  readonly offsetMinutes: (epochMs: number) => number;
  /** The words of calls that the log advises. */
  readonly call: CallWords;
  readonly access: Pick<LineSink, "add">;
  readonly diagnostics: Pick<LineSink, "add">;
  /** Default: the runtime's timers. */
  readonly schedule?: Schedule;
}

/** Milliseconds after a logged pool timeout during which further ones share one line. */
const timeoutWindowMs = 5000;

/** Returns a function that logs events. */
export function createReporter(options: ReporterOptions): Report {
  const { level, now, offsetMinutes, call, access, diagnostics } = options;
  const timeText = timestampFormatter(offsetMinutes);
  const diagnose = (event: Diagnostic) => {
    const epochMs = now();
    const context = { level: level(), epochMs, offsetMinutes: offsetMinutes(epochMs), call };
    const line = diagnosticLine(event, context);
    if (line !== null) diagnostics.add(line);
  };
  const logQueries = ({ status, texts }: QueriedRequest) => {
    if (!isRequestLogged(status, level())) return;
    const prefix = timeText(now());
    for (const text of texts) diagnostics.add(`${prefix}: ${oneLine(text)}`);
  };
  const isNew = oncePerMinute(now);
  const timedOut = throttled(diagnose, options.schedule ?? schedule);
  return function report(event) {
    if (event.kind === "request-finished") {
      const line = accessLine(event, { level: level(), timeText });
      if (line !== null) access.add(line);
      return;
    }
    if (isCounted(event)) return;
    if (event.kind === "request-queried") logQueries(event);
    else if (event.kind === "pool-timeout") timedOut(event);
    else if (event.kind === "error-advised" && !isNew(event.advice)) return;
    else diagnose(event);
  };
}

/** Texts that are remembered at a time. More of them within a minute are not logged. */
const maxRememberedTexts = 1000;

/** Returns a function that returns true for each text once per minute. */
function oncePerMinute(now: () => number): (text: string) => boolean {
  const loggedAt = new Map<string, number>();
  return function isNew(text) {
    const time = now();
    for (const [oldest, at] of loggedAt) {
      if (time - at < 60_000) break;
      loggedAt.delete(oldest);
    }
    if (loggedAt.has(text) || loggedAt.size >= maxRememberedTexts) return false;
    loggedAt.set(text, time);
    return true;
  };
}

/** Logs the first event at once, and the last of the events that follow within the window after it. */
function throttled(
  log: (event: Diagnostic) => void,
  schedule: Schedule,
): (event: Diagnostic) => void {
  let waiting = false;
  let last: Diagnostic | null = null;
  return function take(event) {
    if (waiting) {
      last = event;
      return;
    }
    log(event);
    waiting = true;
    schedule(() => {
      waiting = false;
      if (last !== null) log(last);
      last = null;
    }, timeoutWindowMs);
  };
}
