/** Reads files of this machine, for the program and its configuration. @module */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { basename, dirname, isAbsolute, join, relative, resolve } from "node:path";
import process from "node:process";
import { errorCode } from "./error_code.ts";
import { nearest } from "./nearest.ts";
import { oneLine } from "./printable.ts";

export type ReadBytes = (path: string) => Uint8Array<ArrayBuffer>;

/** Reads a file. Throws an `Error` with the reason only: the caller knows the name. */
export function readBytes(
  path: string,
): { readonly content: Uint8Array<ArrayBuffer>; readonly isRegular: boolean } {
  try {
    const isRegular = statSync(path).isFile();
    return { content: new Uint8Array(readFileSync(path)), isRegular };
  } catch (error) {
    throw new Error(fileErrorReason(error), { cause: error });
  }
}

const missingFile = "no such file";

/** Reasons by the system's code. */
const fileErrorReasons: ReadonlyMap<unknown, string> = new Map([
  ["ENOENT", missingFile],
  ["ENOTDIR", missingFile],
  ["EACCES", "permission denied"],
  ["EISDIR", "is a directory"],
]);

function fileErrorReason(error: unknown): string {
  const code = errorCode(error);
  return fileErrorReasons.get(code) ?? `cannot be read (${code ?? error})`;
}

/** Reads a text. Throws an `Error` that names the file. */
export function readText(
  file: string,
  readFile: ReadBytes = (path) => readBytes(path).content,
): string {
  try {
    return new TextDecoder().decode(readFile(file));
  } catch (error) {
    const reason = error instanceof Error ? error.message : "cannot be read";
    throw new Error(`${file}: ${reason}${reason === missingFile ? missingHint(file) : ""}`);
  }
}

function missingHint(file: string): string {
  const near = nearFile(file);
  if (near !== null) return `; did you mean ${near}?`;
  return file.endsWith(".conf") ? "; svc init writes one" : "";
}

/** Returns the path of a file in the same folder with a similar name, or null. */
function nearFile(path: string): string | null {
  const folder = dirname(path);
  try {
    const names = readdirSync(folder).filter((name) => isFile(join(folder, name)));
    const name = nearest(basename(path), names);
    return name === null ? null : path.slice(0, -basename(path).length) + oneLine(name);
  } catch {
    return null;
  }
}

/** Returns a path as seen from the working directory, or the absolute path if that is shorter. */
export function shortPath(path: string): string {
  const fromHere = relative(process.cwd(), path);
  return fromHere !== "" && fromHere.length < path.length ? fromHere : path;
}

/** Resolves a path in the configuration file against the file's folder. */
export function relativeTo(file: string | null, path: string): string {
  return file === null || isAbsolute(path) ? path : resolve(dirname(file), path);
}

/** Returns whether a path names something that exists and is not a folder. */
export function isFile(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isDirectory() === false;
  } catch {
    return false;
  }
}
