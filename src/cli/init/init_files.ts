/** The two files that `svc init` writes. @module */
import { chmodSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { loadConfig } from "../../config/load.ts";
import type { Config } from "../../config/options.ts";
import { rejectFile } from "../../config/handler_options.ts";

/** Paths of the files. */
export interface InitFiles {
  readonly conf: string;
  readonly sql: string;
}

/** Returns the paths that exist. */
export function existingFiles({ conf, sql }: InitFiles): readonly string[] {
  return [conf, sql].filter((path) => existsSync(path));
}

/** Writes a file that only its owner may read. Replaces a file rather than writing into it. */
export function writePrivateFile(path: string, text: string): void {
  rmSync(path, { force: true });
  writeFileSync(path, text, { mode: 0o600, flag: "wx" });
  chmodSync(path, 0o600);
}

/** Writes a file. Replaces a file rather than writing into it. */
export function writePublicFile(path: string, text: string): void {
  rmSync(path, { force: true });
  writeFileSync(path, text, { flag: "wx" });
}

/** Returns the text of a file. */
export function readText(path: string): string {
  return readFileSync(path, "utf8");
}

/** Returns the configuration of a file without the environment; null if it cannot be read. */
export function configOfFile(path: string): Config | null {
  try {
    return loadConfig({
      file: { path, text: readText(path) },
      environment: {},
      readFile: rejectFile,
    });
  } catch {
    return null;
  }
}
