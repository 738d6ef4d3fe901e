/** Stores bodies for slow readers: in memory up to a limit, then in temporary files. @module */
import type { SpoolSpace, TemporaryFile } from "./spool_file.ts";

/** A body that stores bytes in a spool. */
export interface BodySpoolUser {
  /** Returns the milliseconds since the body's reader has read bytes. */
  idleFor(): number;
  /** Discards the stored bytes. The reader gets an error. */
  evict(): void;
}

interface BodySpoolOptions {
  /** The space of temporary files, which is shared with request bodies. */
  readonly space: SpoolSpace;
  /** Initial value of {@linkcode BodySpool.maxFileBytes}. */
  readonly maxFileBytes: number;
  /** Opens a file; null if the runtime has no files. */
  readonly openFile: (() => TemporaryFile) | null;
}

/** Memory of all users together. */
const maxMemoryBytes = 64 * 1024 * 1024;
/** Milliseconds without a read after which a body loses its space if other bodies need space. */
const maxIdleMs = 30_000;

/** A spool. Bodies take space from the spool, and return the space. */
export class BodySpool {
  readonly #options: BodySpoolOptions;
  readonly #users = new Set<BodySpoolUser>();
  #memoryBytes = 0;
  #fileBytes = 0;
  /** Bytes of all temporary files together; 0 turns files off. */
  maxFileBytes: number;

  constructor(options: BodySpoolOptions) {
    this.#options = options;
    this.maxFileBytes = options.maxFileBytes;
  }

  get space(): SpoolSpace {
    return this.#options.space;
  }

  /** Bytes that all bodies together have taken. */
  get taken(): { readonly memoryBytes: number; readonly fileBytes: number } {
    return { memoryBytes: this.#memoryBytes, fileBytes: this.#fileBytes };
  }

  add(user: BodySpoolUser): void {
    this.#users.add(user);
  }

  remove(user: BodySpoolUser): void {
    this.#users.delete(user);
  }

  /** Takes memory. Returns false if the spool has less free memory. */
  takeMemory(bytes: number): boolean {
    const fits = () => this.#memoryBytes + bytes <= maxMemoryBytes;
    if (!fits()) this.#evictIdle();
    if (!fits()) return false;
    this.#memoryBytes += bytes;
    return true;
  }

  returnMemory(bytes: number): void {
    this.#memoryBytes -= bytes;
  }

  /** Takes room in files. Returns false if the spool has less free room. */
  takeFile(bytes: number): boolean {
    const { space } = this;
    const reserve = () => space.reserve(bytes, this.maxFileBytes);
    if (!reserve()) {
      this.#evictIdle();
      if (!reserve()) return false;
    }
    this.#fileBytes += bytes;
    return true;
  }

  returnFile(bytes: number): void {
    this.#fileBytes -= bytes;
    this.space.release(bytes);
  }

  /** Opens a temporary file; null if that fails. */
  open(): TemporaryFile | null {
    try {
      return this.#options.openFile?.() ?? null;
    } catch {
      // Without permission, folder or descriptor, slow readers slow PostgreSQL down.
      return null;
    }
  }

  #evictIdle(): void {
    for (const user of [...this.#users]) if (user.idleFor() > maxIdleMs) user.evict();
  }
}
