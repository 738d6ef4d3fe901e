/**
 * The process's logs: requests go to stdout, everything else to stderr.
 *
 * @module
 */
import { LineSink } from "../observe/line_sink.ts";
import type { LogLevel, Observation } from "../observe/observation.ts";
import { createReporter } from "../observe/reporter.ts";
import { atMost } from "./deadline.ts";

/** The open logs. */
export interface Log {
  readonly observe: (event: Observation) => void;
  /** Tells where the level stands that may change. */
  readonly follow: (level: () => LogLevel) => void;
  /**
   * Resolves when everything is written, or when the reader has not taken it for a second. Whoever
   * ends the process waits for it.
   */
  readonly flush: () => Promise<void>;
}

/** Opens the logs. */
export function openLog(initial: LogLevel): Log {
  let level = () => initial;
  const diagnostics = new LineSink({ write: writerTo(Deno.stderr) });
  const write = writerTo(Deno.stdout);
  const access = new LineSink({
    // What is told of a request stands before its line, also where both logs go the same way.
    write: (bytes) => diagnostics.flush().then(() => write(bytes)),
  });
  return {
    observe: createReporter({
      level: () => level(),
      now: Date.now,
      offsetMinutes: (epochMs) => -new Date(epochMs).getTimezoneOffset(),
      access,
      diagnostics,
    }),
    follow: (current) => void (level = current),
    flush: () => atMost(1000, Promise.all([access.flush(), diagnostics.flush()])),
  };
}

function writerTo(output: { write(bytes: Uint8Array): Promise<number> }) {
  return async (bytes: Uint8Array): Promise<void> => {
    for (let at = 0; at < bytes.length;) at += await output.write(bytes.subarray(at));
  };
}
