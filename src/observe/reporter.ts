/** Writes the events of the log level: finished requests to the access log, all others to the
 * diagnostic log. @module */
import { accessLine, isRequestLogged } from "./access_log.ts";
import type { CallWords } from "./call_words.ts";
import type { LineSink } from "./line_sink.ts";
import {
  isoTimeFormatter,
  jsonAccessLine,
  jsonDiagnosticLine,
  jsonQueryLine,
} from "./json_lines.ts";
import { diagnosticLine } from "./logger.ts";
import {
  type Diagnostic,
  type FinishedRequest,
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

/** Options of the configuration that the logs follow. */
export interface LogSettings {
  readonly logLevel: LogLevel;
  readonly logFormat: "text" | "json";
}

interface ReporterOptions {
  /** Returns the current settings. The reporter calls it for each event, since a reload may change them. */
  readonly settings: () => LogSettings;
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
  const { settings, access, diagnostics } = options;
  const formats = { text: textLines(options), json: jsonLines(options) };
  const diagnose = (event: Diagnostic) => {
    const { logLevel, logFormat } = settings();
    const line = formats[logFormat].diagnostic(event, logLevel);
    if (line !== null) diagnostics.add(line);
  };
  const logQueries = ({ status, texts }: QueriedRequest) => {
    const { logLevel, logFormat } = settings();
    if (!isRequestLogged(status, logLevel)) return;
    for (const text of texts) diagnostics.add(formats[logFormat].query(text));
  };
  const isNew = oncePerMinute(options.now);
  const timedOut = throttled(diagnose, options.schedule ?? schedule);
  return function report(event) {
    if (event.kind === "request-finished") {
      const { logLevel, logFormat } = settings();
      const line = formats[logFormat].access(event, logLevel);
      if (line !== null) access.add(line);
      return;
    }
    if (isCounted(event)) return;
    if (event.kind === "request-queried") logQueries(event);
    else if (event.kind === "pool-timeout") timedOut(event);
    else if ("advice" in event && !isNew(event.advice)) return;
    else diagnose(event);
  };
}

/** Formats events as lines. Null stands for a line that the level does not log. */
interface LineFormat {
  readonly access: (request: FinishedRequest, level: LogLevel) => string | null;
  readonly diagnostic: (event: Diagnostic, level: LogLevel) => string | null;
  readonly query: (text: string) => string;
}

type LineFormatOptions = Pick<ReporterOptions, "call" | "now" | "offsetMinutes">;

function textLines({ call, now, offsetMinutes }: LineFormatOptions): LineFormat {
  const timeText = timestampFormatter(offsetMinutes);
  return {
    access: (request, level) => accessLine(request, { level, timeText }),
    diagnostic: (event, level) => {
      const epochMs = now();
      const context = { level, epochMs, offsetMinutes: offsetMinutes(epochMs), call };
      return diagnosticLine(event, context);
    },
    query: (text) => `${timeText(now())}: ${oneLine(text)}`,
  };
}

function jsonLines({ call, now }: LineFormatOptions): LineFormat {
  const timeText = isoTimeFormatter();
  return {
    access: (request, level) => jsonAccessLine(request, { level, timeText }),
    diagnostic: (event, level) => jsonDiagnosticLine(event, { level, epochMs: now(), call }),
    query: (text) => jsonQueryLine(text, now()),
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
