/**
 * Temporary files of the runtime, for bodies that wait for a slow reader.
 *
 * @module
 */
import type { BodySpoolFile } from "./body_spool.ts";
import { type BuiltinModule, builtinModule } from "./builtin_modules.ts";

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
