/**
 * Collects the lines of a log and writes many at once.
 *
 * @module
 */

/** What a {@linkcode LineSink} needs. */
export interface LineSinkOptions {
  /** Writes all the bytes. What it raises is dropped: a log never stops the service. */
  readonly write: (bytes: Uint8Array) => void;
  /** Runs a function a little later, and returns what takes it back. By default after 10 ms. */
  readonly schedule?: (run: () => void) => () => void;
}

/** Texts of this many characters are written without waiting. */
const fullAt = 65_536;

/** Owns the lines that are not written yet. Whoever ends the process calls `flush` before. */
export class LineSink {
  readonly #write: (bytes: Uint8Array) => void;
  readonly #schedule: (run: () => void) => () => void;
  readonly #encoder = new TextEncoder();
  #pending = "";
  #unschedule: (() => void) | null = null;

  constructor({ write, schedule = soon }: LineSinkOptions) {
    this.#write = write;
    this.#schedule = schedule;
  }

  /** Adds a line; the line feed is added to it. */
  add(line: string): void {
    this.#pending += `${line}\n`;
    if (this.#pending.length >= fullAt) return this.flush();
    this.#unschedule ??= this.#schedule(() => this.flush());
  }

  /** Writes what is pending, now. */
  flush(): void {
    this.#unschedule?.();
    this.#unschedule = null;
    if (this.#pending === "") return;
    const bytes = this.#encoder.encode(this.#pending);
    this.#pending = "";
    try {
      this.#write(bytes);
    } catch {
      // The log's reader is gone; requests are answered all the same.
    }
  }
}

function soon(run: () => void): () => void {
  const timer = setTimeout(run, 10);
  return () => clearTimeout(timer);
}
