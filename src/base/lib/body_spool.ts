/** Bounds what bodies that wait for a slow reader take: memory in all, then temporary files.
 * @module */
import type { SpoolSpace, TemporaryFile } from "./spool_file.ts";

/** A body that takes room in a spool. */
export interface BodySpoolUser {
  /** Milliseconds for which its reader has taken nothing. */
  idleFor(): number;
  /** Discards what it keeps. Its reader gets an error. */
  evict(): void;
}

interface BodySpoolOptions {
  /** Shared with the files of request bodies. */
  readonly space: SpoolSpace;
  /** Initial value of {@linkcode BodySpool.maxFileBytes}. */
  readonly maxFileBytes: number;
  /** Opens a file; null if the runtime has no files. */
  readonly openFile: (() => TemporaryFile) | null;
}

/** Memory of all users together. */
const maxMemoryBytes = 64 * 1024 * 1024;
/** A user whose reader takes nothing for this time loses its space to other users. */
const maxIdleMs = 30_000;

/** One spool. Its users take and return bytes. */
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

  /** Bytes that its users have taken. */
  get taken(): { readonly memoryBytes: number; readonly fileBytes: number } {
    return { memoryBytes: this.#memoryBytes, fileBytes: this.#fileBytes };
  }

  add(user: BodySpoolUser): void {
    this.#users.add(user);
  }

  remove(user: BodySpoolUser): void {
    this.#users.delete(user);
  }

  /** Takes memory; false if there is too little. */
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

  /** Takes room in files; false if there is too little. */
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

  /** Opens a file; null where that fails. */
  open(): TemporaryFile | null {
    try {
      return this.#options.openFile?.() ?? null;
    } catch {
      // No permission, no folder or no descriptor left: readers slow PostgreSQL down instead.
      return null;
    }
  }

  #evictIdle(): void {
    for (const user of [...this.#users]) if (user.idleFor() > maxIdleMs) user.evict();
  }
}
