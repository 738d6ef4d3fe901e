/** Finds the files of the console: built ones in the npm package and in the executable, else it
 * bundles them from the sources. @module */
import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { ConsoleFiles } from "./console_page.ts";

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
  if (packaged.protocol === "file:" && existsSync(packaged)) {
    return await readFolder(fileURLToPath(packaged));
  }
  if (Deno.build.standalone) return await readFolder(fileURLToPath(embedded));
  return await buildConsole();
}

async function readFolder(folder: string): Promise<ConsoleFiles> {
  const names = await readdir(folder);
  const files = await Promise.all(names.map(async (name) => {
    const bytes = new Uint8Array(await readFile(join(folder, name)));
    return [name, bytes] as const;
  }));
  return new Map(files);
}

const entry = new URL("../console/main.ts", import.meta.url);

/** Bundles the pages, and returns the content of each file. Their names contain a hash of it. */
export async function buildConsole(): Promise<ConsoleFiles> {
  const folder = await Deno.makeTempDir({ prefix: "svc_console_" });
  try {
    await bundle(folder);
    const files = Array.from(await readFolder(folder));
    const named = files.map(async ([name, bytes]) =>
      [await hashedName(name, bytes), bytes] as const
    );
    return new Map(await Promise.all(named));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

async function bundle(folder: string): Promise<void> {
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      ...["bundle", "--quiet", "--platform=browser", "--minify", "--code-splitting"],
      `--config=${fileURLToPath(new URL("deno.json", entry))}`,
      `--outdir=${folder}`,
      entry.href,
    ],
  }).output();
  if (!success) throw new Error(new TextDecoder().decode(stderr).trim());
}

/** Returns `main-1f3a….js` for the files of an entry. The bundler names the other files so. */
async function hashedName(name: string, bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const [, stem = "", extension = ""] = /^([a-z]+)\.([a-z]+)$/.exec(name) ?? [];
  if (stem === "") return name;
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  const hash = Array.from(digest.subarray(0, 6), (byte) => byte.toString(16).padStart(2, "0"));
  return `${stem}-${hash.join("")}.${extension}`;
}
