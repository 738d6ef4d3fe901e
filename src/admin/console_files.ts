/**
 * Finds the files of the console: built ones in the npm package and in the executable, else it bundles
 * them from the sources.
 *
 * @module
 */
import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { ConsoleFiles } from "./console_page.ts";
import { buildConsole } from "./console_build.ts";

/** The built files in the npm package, beside its bundle. */
const packaged = new URL("./console/", import.meta.url);

/** The built files in the executable. */
const embedded = new URL("../../dist/console/", import.meta.url);

/** Resolves with the files. Rejects if they cannot be read or bundled. */
export type ReadConsoleFiles = () => Promise<ConsoleFiles>;

/** Makes the reader, which reads or bundles at its first call, and again after a failure. */
export function consoleFilesReader(): ReadConsoleFiles {
  let files: Promise<ConsoleFiles> | null = null;
  return async () => {
    try {
      return await (files ??= findFiles());
    } catch (error) {
      files = null;
      throw error;
    }
  };
}

async function findFiles(): Promise<ConsoleFiles> {
  if (packaged.protocol === "file:" && existsSync(packaged)) return await readFolder(packaged);
  if (Deno.build.standalone) return await readFolder(embedded);
  return await buildConsole();
}

async function readFolder(url: URL): Promise<ConsoleFiles> {
  const folder = fileURLToPath(url);
  const names = await readdir(folder);
  const files = await Promise.all(names.map(async (name) => {
    const bytes = new Uint8Array(await readFile(join(folder, name)));
    return [name, bytes] as const;
  }));
  return new Map(files);
}
