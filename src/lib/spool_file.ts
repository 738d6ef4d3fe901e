/** Temporary files for bodies that wait for a slower reader. @module */
import { type BuiltinModule, builtinModule } from "./builtin_modules.ts";

/** The bytes that all spool files of a process may have together. */
export class SpoolSpace {
  #used = 0;

  get used(): number {
    return this.#used;
  }

  /** Takes space; false if less than that is left of `max`. */
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

type FileHandle = Awaited<ReturnType<BuiltinModule<"node:fs/promises">["open"]>>;

/**
 * Creates a file that only this process can read, and removes its name at once: it is gone when the
 * process ends. Returns null where the runtime has no files, or permits none.
 */
export async function openSpoolFile(options: SpoolOptions): Promise<SpoolFile | null> {
  const files = builtinModule("node:fs/promises");
  const os = builtinModule("node:os");
  if (files === null || os === null) return null;
  const path = `${os.tmpdir()}/svc-${crypto.randomUUID()}`;
  try {
    const handle = await files.open(path, "wx+", 0o600);
    await files.unlink(path);
    return new SpoolFile(handle, options);
  } catch {
    return null;
  }
}

const readBuffers = 3;

export class SpoolFile {
  readonly #handle: FileHandle;
  readonly #options: SpoolOptions;
  readonly #lengths: number[] = [];
  #length = 0;
  #isClosed = false;

  constructor(handle: FileHandle, options: SpoolOptions) {
    this.#handle = handle;
    this.#options = options;
  }

  /** Writes a piece, which must stay unchanged meanwhile. Throws {@linkcode SpoolFullError}. */
  async append(piece: Uint8Array): Promise<void> {
    const { space, maxBytes } = this.#options;
    if (!space.reserve(piece.length, maxBytes)) throw new SpoolFullError("no space is left");
    this.#lengths.push(piece.length);
    let at = this.#length;
    this.#length += piece.length;
    for (let rest = piece; rest.length > 0;) {
      const written = await this.#write(rest, at);
      at += written;
      rest = rest.subarray(written);
    }
  }

  /** Yields the pieces. Each stays unchanged until the second one behind it is requested. */
  async *pieces(): AsyncGenerator<Uint8Array> {
    const buffers: Uint8Array[] = [];
    let at = 0;
    for (const length of this.#lengths) {
      let buffer = buffers.length < readBuffers ? new Uint8Array(length) : buffers.shift()!;
      if (buffer.length < length) buffer = new Uint8Array(length);
      buffers.push(buffer);
      await this.#read(buffer.subarray(0, length), at);
      at += length;
      yield buffer.subarray(0, length);
    }
  }

  /** Frees the file. Never rejects. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#options.space.release(this.#length);
    await this.#handle.close().catch(() => {});
  }

  async #write(bytes: Uint8Array, position: number): Promise<number> {
    try {
      return (await this.#handle.write(bytes, 0, bytes.length, position)).bytesWritten;
    } catch (error) {
      const { code } = error as { readonly code?: string };
      throw code === "ENOSPC" || code === "EDQUOT" ? new SpoolFullError("the disk is full") : error;
    }
  }

  async #read(buffer: Uint8Array, start: number): Promise<void> {
    for (let at = 0; at < buffer.length;) {
      const { bytesRead } = await this.#handle.read(buffer, at, buffer.length - at, start + at);
      if (bytesRead === 0) throw new Error("a spool file is shorter than what was written");
      at += bytesRead;
    }
  }
}
