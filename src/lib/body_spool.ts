/** Bounds what bodies that wait for a slow reader take: memory in all, then temporary files.
 * @module */
import type { SpoolSpace } from "./spool_file.ts";
import { type BuiltinModule, builtinModule } from "./builtin_modules.ts";

/** A temporary file. It disappears when it is closed, or when the process ends. */
export interface BodySpoolFile {
  /** Writes at a position. Throws if the disk is full. */
  write(bytes: Uint8Array, position: number): void;
  /** Fills a buffer from a position. */
  read(buffer: Uint8Array, position: number): void;
  close(): void;
}

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
  /** Opens a file; null where the runtime has none. */
  readonly openFile: (() => BodySpoolFile) | null;
}

/** Memory of all users together. */
const maxMemoryBytes = 64 * 1024 * 1024;
/** A user whose reader takes nothing for this time gives way to others. */
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

  /** Takes memory for bytes that are there already, whatever the limit. */
  holdMemory(bytes: number): void {
    this.#memoryBytes += bytes;
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
  open(): BodySpoolFile | null {
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

/** Returns the function that opens a temporary file; null where the runtime has no files. */
export function bodySpoolFiles(): (() => BodySpoolFile) | null {
  const fs = builtinModule("node:fs");
  const os = builtinModule("node:os");
  return fs === null || os === null ? null : () => openFile(fs, os.tmpdir());
}

/** Opens a file that only this process can read, and unlinks it: nothing stays behind. */
function openFile(fs: BuiltinModule<"node:fs">, folder: string): BodySpoolFile {
  const path = `${folder}/svc-${crypto.randomUUID()}`;
  const file = fs.openSync(path, "wx+", 0o600);
  fs.unlinkSync(path);
  return {
    write(bytes, position) {
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
