/** How the diagnostic log shows a kind of events: rows of the tables in `diagnostics.ts`. @module */
import type { LogLevel } from "../log_level.ts";
import type { CallWords } from "./call_words.ts";
import { redact } from "../lib/redact.ts";

/** An error with all the fields of an error response. */
export interface ReportedError {
  readonly code: string;
  readonly message: string;
  readonly details: string | readonly Readonly<Record<string, string>>[] | null;
  readonly hint: string | null;
}

/** How the log shows a kind of events. */
export interface DiagnosticRow<Fields> {
  /** The least verbose log level that includes the events. */
  readonly severity: LogLevel;
  /** The level in log lines of the JSON format. */
  readonly level: LogLevel;
  /** Returns the text of an event; an array for several lines. */
  readonly text: (event: Fields, call: CallWords) => string | readonly string[];
}

/** Returns a function that makes rows of a severity. `level` is the level in lines of JSON. */
function rows(severity: LogLevel, level: LogLevel = severity) {
  return <Fields extends object>(text: DiagnosticRow<Fields>["text"]): DiagnosticRow<Fields> => ({
    severity,
    level,
    text,
  });
}

export const [error, warn, info, debug] = [
  rows("error"),
  rows("warn"),
  rows("info"),
  rows("debug"),
];
/** These make rows that each log level includes: information, risks and failures. */
export const [notice, warning, failure] = [
  rows("crit", "info"),
  rows("crit", "warn"),
  rows("crit", "error"),
];

/** Returns the text of events with an error: `text`, and the error as JSON. */
export function withError(text: string): (event: { readonly error: ReportedError }) => string {
  return ({ error }) => text + toJson(error);
}

export function toJson({ code, details, hint, message }: ReportedError): string {
  const hide = (_: string, value: unknown) => (typeof value === "string" ? redact(value) : value);
  return JSON.stringify({ code, details, hint, message }, hide);
}
