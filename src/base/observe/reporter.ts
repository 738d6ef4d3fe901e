/** Writes the events of the log level: finished requests to the access log, all other events to the
 * diagnostic log. @module */
import type { CallWords } from "./call_words.ts";
import { jsonLines } from "./json_lines.ts";
import type { LineSink } from "./line_sink.ts";
import { diagnostics as rows } from "./diagnostics.ts";
import { type Diagnostic, isDiagnostic, isLogged, type Observation } from "./observation.ts";
import { type Schedule, schedule } from "../lib/timers.ts";
import { textLines } from "./text_lines.ts";
import type { LogLevel } from "../log_level.ts";

/** Logs an event. Never throws. */
export type Report = (event: Observation) => void;

/** Options of the configuration that the logs follow. */
export interface LogSettings {
  readonly logLevel: LogLevel;
  readonly logFormat: "text" | "json";
}

interface ReporterOptions {
  /** Returns the current settings. The reporter calls it for each event, since a reload may change them. */
  readonly settings: () => LogSettings;
  /** Epoch milliseconds. Default: the clock of the system. */
  readonly now?: () => number;
  /** Returns the minutes by which local time is ahead of UTC at a time. Default: the clocks of the
   * system. */
  readonly offsetMinutes?: (epochMs: number) => number;
  /** The words that run this program, for advice in the log. */
  readonly call: CallWords;
  readonly access: Pick<LineSink, "add">;
  readonly diagnostics: Pick<LineSink, "add">;
  /** Default: the runtime's timers. */
  readonly schedule?: Schedule;
}

/** Milliseconds after a logged pool timeout during which further timeouts share one line. */
const timeoutWindowMs = 5000;

/** Lowest status of the requests that each level logs. */
const lowestStatus: Readonly<Record<LogLevel, number>> = {
  crit: Infinity,
  error: 500,
  warn: 400,
  info: 0,
  debug: 0,
};

/** Returns a function that logs events. */
export function createReporter(options: ReporterOptions): Report {
  const { settings, access, diagnostics, call, now = Date.now } = options;
  const { offsetMinutes = (epochMs) => -new Date(epochMs).getTimezoneOffset() } = options;
  const formats = { text: textLines(call, offsetMinutes), json: jsonLines(call) };
  const diagnose = (event: Diagnostic) => {
    const { logLevel, logFormat } = settings();
    if (!isLogged(rows[event.kind].severity, logLevel)) return;
    diagnostics.add(formats[logFormat].diagnostic(event, now()));
  };
  const isNew = oncePerMinute(now);
  const timedOut = throttled(diagnose, options.schedule ?? schedule);
  return function report(event) {
    if (event.kind === "request-finished" || event.kind === "request-queried") {
      const { logLevel, logFormat } = settings();
      const format = formats[logFormat];
      if (event.status < lowestStatus[logLevel]) return;
      if (event.kind === "request-finished") return access.add(format.access(event));
      for (const text of event.texts) diagnostics.add(format.query(text, now()));
    } else if (event.kind === "pool-timeout") timedOut(event);
    else if ("advice" in event && !isNew(event.advice)) return;
    else if (isDiagnostic(event)) diagnose(event);
  };
}

/** Maximum number of remembered texts. Further texts of the same minute are not logged. */
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

/** Logs the first event at once. Of the events within the following window, only the last is logged. */
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
