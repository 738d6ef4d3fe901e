/**
 * Collects the lines of a log and writes many at once, without making anybody wait.
 *
 * @module
 */

/** What a {@linkcode LineSink} needs. */
export interface LineSinkOptions {
  /** Writes all the bytes. Called again only when it has settled; what it rejects with is dropped. */
  readonly write: (bytes: Uint8Array) => Promise<void>;
  /** Runs a function a little later, and returns what takes it back. By default after 10 ms. */
  readonly schedule?: (run: () => void) => () => void;
  /** Characters that may wait for a reader that is slow; further lines are lost. 16 Mi unless told. */
  readonly most?: number;
}

/** Texts of this many characters are written without waiting. */
const fullAt = 65_536;

/** Owns the lines that are not written yet. Whoever ends the process calls `flush` before. */
export class LineSink {
  readonly #write: (bytes: Uint8Array) => Promise<void>;
  readonly #schedule: (run: () => void) => () => void;
  readonly #most: number;
  readonly #encoder = new TextEncoder();
  #pending = "";
  #writing: Promise<void> | null = null;
  #unschedule: (() => void) | null = null;

  constructor({ write, schedule = soon, most = 16 * 1024 * 1024 }: LineSinkOptions) {
    this.#write = write;
    this.#schedule = schedule;
    this.#most = most;
  }

  /** Adds a line; the line feed is added to it. */
  add(line: string): void {
    // A log that nobody reads stops neither the service nor fills its memory.
    if (this.#pending.length >= this.#most) return;
    this.#pending += `${line}\n`;
    if (this.#writing === null) this.#plan();
  }

  /** Writes what is pending; resolves when all of it is written. */
  async flush(): Promise<void> {
    while (this.#writing !== null || this.#pending !== "") {
      await (this.#writing ?? this.#begin());
    }
  }

  #plan(): void {
    if (this.#pending.length >= fullAt) this.#begin();
    else if (this.#pending !== "") this.#unschedule ??= this.#schedule(() => void this.#begin());
  }

  #begin(): Promise<void> {
    this.#unschedule?.();
    this.#unschedule = null;
    const bytes = this.#encoder.encode(this.#pending);
    this.#pending = "";
    return this.#writing = this.#write(bytes).catch(() => {}).then(() => {
      this.#writing = null;
      this.#plan();
    });
  }
}

function soon(run: () => void): () => void {
  const timer = setTimeout(run, 10);
  return () => clearTimeout(timer);
}
