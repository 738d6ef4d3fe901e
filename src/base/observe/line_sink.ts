/** Buffers log lines and writes many of them at once, so that requests do not wait for the log.
 * @module */

interface LineSinkOptions {
  /** Writes all bytes. The sink awaits the promise and ignores a rejection. */
  readonly write: (bytes: Uint8Array) => Promise<void>;
  /** Runs a function later and returns a function that cancels it. Default: after 10 ms. */
  readonly schedule?: (run: () => void) => () => void;
  /** Buffered characters beyond which the sink drops lines. Default: 16 Mi. */
  readonly maxPendingChars?: number;
}

/** Buffered characters from which the sink writes at once: a pipe's buffer on Linux has 64 KiB. */
const flushAtChars = 65_536;

/** Buffers lines. The process must call `flush` before it exits. */
export class LineSink {
  readonly #write: (bytes: Uint8Array) => Promise<void>;
  readonly #schedule: (run: () => void) => () => void;
  readonly #maxPendingChars: number;
  readonly #encoder = new TextEncoder();
  #pending = "";
  #writing: Promise<void> | null = null;
  #cancelScheduled: (() => void) | null = null;

  constructor({ write, schedule = soon, maxPendingChars = 16 * 1024 * 1024 }: LineSinkOptions) {
    this.#write = write;
    this.#schedule = schedule;
    this.#maxPendingChars = maxPendingChars;
  }

  add(line: string): void {
    // The line is dropped: a log without a reader must neither block nor fill the memory.
    if (this.#pending.length >= this.#maxPendingChars) return;
    this.#pending += `${line}\n`;
    if (this.#writing === null) this.#scheduleWrite();
  }

  /** Writes the buffer. Resolves when it is empty. */
  async flush(): Promise<void> {
    while (this.#writing !== null || this.#pending !== "") {
      await (this.#writing ?? this.#startWrite());
    }
  }

  #scheduleWrite(): void {
    if (this.#pending.length >= flushAtChars) this.#startWrite();
    else if (this.#pending !== "") {
      this.#cancelScheduled ??= this.#schedule(() => void this.#startWrite());
    }
  }

  #startWrite(): Promise<void> {
    this.#cancelScheduled?.();
    this.#cancelScheduled = null;
    const bytes = this.#encoder.encode(this.#pending);
    this.#pending = "";
    return this.#writing = this.#write(bytes).catch(() => {}).then(() => {
      this.#writing = null;
      this.#scheduleWrite();
    });
  }
}

function soon(run: () => void): () => void {
  const timer = setTimeout(run, 10);
  return () => clearTimeout(timer);
}
