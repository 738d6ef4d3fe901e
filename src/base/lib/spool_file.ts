/** Temporary files for bodies that wait for a slower reader. @module */
import { type BuiltinModule, builtinModule } from "./builtin_modules.ts";
import { errorCode } from "./error_code.ts";

/** A temporary file. It disappears when it is closed, or when the process ends. */
export interface TemporaryFile {
  /** Writes at a position. Throws if the disk is full. */
  write(bytes: Uint8Array, position: number): void;
  /** Fills a buffer from a position. */
  read(buffer: Uint8Array, position: number): void;
  close(): void;
}

/** The bytes that all spool files of a process may have together. */
export class SpoolSpace {
  #used = 0;

  get used(): number {
    return this.#used;
  }

  /** Takes space. Returns false if that would exceed `max`. */
  reserve(bytes: number, max: number): boolean {
    if (this.#used + bytes > max) return false;
    this.#used += bytes;
    return true;
  }

  release(bytes: number): void {
    this.#used -= bytes;
  }
}

/** Thrown if the space, or the disk, is used up. */
export class SpoolFullError extends Error {
  override readonly name = "SpoolFullError";
}

interface SpoolOptions {
  readonly space: SpoolSpace;
  /** The most bytes that all files may have together; Infinity for no limit. */
  readonly maxBytes: number;
}

/** Returns the function that opens a temporary file; null where the runtime has no files. */
export function temporaryFiles(): (() => TemporaryFile) | null {
  const fs = builtinModule("node:fs");
  const os = builtinModule("node:os");
  return fs === null || os === null ? null : () => openFile(fs, os.tmpdir());
}

const isWorkerd = globalThis.navigator?.userAgent === "Cloudflare-Workers";

/** Opens a file that only this process can read, and unlinks it, so that it ends with the process. */
function openFile(fs: BuiltinModule<"node:fs">, folder: string): TemporaryFile {
  const path = `${folder}/svc-${crypto.randomUUID()}`;
  const file = fs.openSync(path, "wx+", 0o600);
  fs.unlinkSync(path);
  return {
    write(part, position) {
      // A view that begins later in its buffer is copied, because workerd can refuse it.
      const bytes = isWorkerd && part.byteOffset > 0 ? part.slice() : part;
      for (let at = 0; at < bytes.length;) {
        at += fs.writeSync(file, bytes, at, bytes.length - at, position + at);
      }
    },
    read(buffer, position) {
      for (let at = 0; at < buffer.length;) {
        const bytes = fs.readSync(file, buffer, at, buffer.length - at, position + at);
        if (bytes === 0) throw new Error("a temporary file is shorter than written");
        at += bytes;
      }
    },
    close: () => fs.closeSync(file),
  };
}

/** Creates a file. Returns null where the runtime has no files, or permits none. */
export function openSpoolFile(options: SpoolOptions): SpoolFile | null {
  try {
    const file = temporaryFiles()?.();
    return file === undefined ? null : new SpoolFile(file, options);
  } catch {
    return null;
  }
}

export class SpoolFile {
  readonly #file: TemporaryFile;
  readonly #options: SpoolOptions;
  readonly #lengths: number[] = [];
  /** Bytes of the chunk that is being written. `#length` has the bytes of all chunks. */
  #chunkLength = 0;
  #length = 0;
  #isClosed = false;

  constructor(file: TemporaryFile, options: SpoolOptions) {
    this.#file = file;
    this.#options = options;
  }

  /** Writes a part of a chunk. Throws {@linkcode SpoolFullError}. */
  append(part: Uint8Array): void {
    const { space, maxBytes } = this.#options;
    if (!space.reserve(part.length, maxBytes)) throw new SpoolFullError("no space is left");
    this.#chunkLength += part.length;
    const position = this.#length;
    this.#length += part.length;
    try {
      this.#file.write(part, position);
    } catch (error) {
      const code = errorCode(error);
      throw code === "ENOSPC" || code === "EDQUOT" ? new SpoolFullError("the disk is full") : error;
    }
  }

  endChunk(): void {
    this.#lengths.push(this.#chunkLength);
    this.#chunkLength = 0;
  }

  /** Yields the chunks. Each stays unchanged until the next one is requested. */
  *chunks(): Generator<Uint8Array> {
    const buffer = new Uint8Array(Math.max(0, ...this.#lengths));
    let at = 0;
    for (const length of this.#lengths) {
      const chunk = buffer.subarray(0, length);
      this.#file.read(chunk, at);
      at += length;
      yield chunk;
    }
  }

  /** Frees the file. Never throws. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#options.space.release(this.#length);
    this.#file.close();
  }
}
