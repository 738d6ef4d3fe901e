/** The logs of the process: the access log on stdout, the diagnostic log on stderr. @module */
import type { CallWords } from "../../base/observe/call_words.ts";
import { LineSink } from "../../base/observe/line_sink.ts";
import type { Observation } from "../../base/observe/observation.ts";
import { createReporter, type LogSettings } from "../../base/observe/reporter.ts";
import { withTimeout } from "../../base/lib/time_limits.ts";
import { stderr, stdout, writeAll } from "../../base/observe/standard_streams.ts";

export interface Log {
  readonly observe: (event: Observation) => void;
  /** Sets the function that returns the current settings. */
  readonly setSettings: (settings: () => LogSettings) => void;
  /** Adds formatted lines. Each text may be empty, and does not end with a line feed. */
  readonly addLines: (lines: { readonly access: string; readonly diagnostics: string }) => void;
  /** Also passes each line of the diagnostic log to a function. */
  readonly tapDiagnostics: (take: (line: string) => void) => void;
  /** Resolves when all lines are written, or after one second. Must be called before the process exits. */
  readonly flush: () => Promise<void>;
}

/** Milliseconds to flush, because the reader of the logs may have stopped. */
const flushTimeoutMs = 1000;

/** Opens the logs. `call` has the words for calls in advice. */
export function openLog(initial: LogSettings, call: CallWords): Log {
  let settings = () => initial;
  const diagnostics = new LineSink({ write: (bytes) => writeAll(stderr, bytes) });
  let tap = (_line: string) => {};
  const add = (line: string) => {
    diagnostics.add(line);
    tap(line);
  };
  const access = new LineSink({
    // Writes the diagnostics of a request before its line, because both logs may go to one file.
    write: (bytes) => diagnostics.flush().then(() => writeAll(stdout, bytes)),
  });
  return {
    observe: createReporter({
      settings: () => settings(),
      call,
      access,
      diagnostics: { add },
    }),
    addLines: ({ access: requests, diagnostics: others }) => {
      if (others !== "") { for (const line of others.split("\n")) add(line); }
      if (requests !== "") access.add(requests);
    },
    tapDiagnostics: (take) => void (tap = take),
    setSettings: (current) => void (settings = current),
    flush: () => withTimeout(flushTimeoutMs, Promise.all([access.flush(), diagnostics.flush()])),
  };
}
