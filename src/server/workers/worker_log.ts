/** The logs of a worker: lines that the owner writes. @module */
import type { CallWords } from "../../observe/call_words.ts";
import { createReporter, type LogSettings, type Report } from "../../observe/reporter.ts";
import type { Schedule } from "../../lib/timers.ts";
import type { LogLines } from "./messages.ts";

/** Dependencies of a {@linkcode WorkerLog}. */
export interface WorkerLogOptions {
  readonly post: (lines: LogLines) => void;
  readonly settings: () => LogSettings;
  readonly call: CallWords;
  readonly now: () => number;
  readonly schedule: Schedule;
}

/** Milliseconds after the first line until the lines are posted. */
const batchMs = 10;

/** Formats events, and posts the lines in batches. */
export class WorkerLog {
  readonly observe: Report;
  readonly #options: WorkerLogOptions;
  #access: string[] = [];
  #diagnostics: string[] = [];
  #cancel: (() => void) | null = null;

  constructor(options: WorkerLogOptions) {
    this.#options = options;
    this.observe = createReporter({
      settings: options.settings,
      now: options.now,
      offsetMinutes: (epochMs) => -new Date(epochMs).getTimezoneOffset(),
      call: options.call,
      access: { add: (line) => this.#add(this.#access, line) },
      diagnostics: { add: (line) => this.#add(this.#diagnostics, line) },
      schedule: options.schedule,
    });
  }

  /** Posts the lines that wait. */
  flush(): void {
    this.#cancel?.();
    this.#cancel = null;
    if (this.#access.length === 0 && this.#diagnostics.length === 0) return;
    this.#options.post({
      access: this.#access.join("\n"),
      diagnostics: this.#diagnostics.join("\n"),
    });
    this.#access.length = 0;
    this.#diagnostics.length = 0;
  }

  #add(lines: string[], line: string): void {
    lines.push(line);
    this.#cancel ??= this.#options.schedule(() => this.flush(), batchMs);
  }
}
