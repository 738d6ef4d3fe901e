/**
 * Output of the program apart from its logs, and a look at its files.
 *
 * @module
 */
import { svcDialect } from "../dialect.ts";

const encoder = new TextEncoder();

/** Writes a text to stdout. */
export function print(text: string): void {
  writeAll(Deno.stdout, encoder.encode(text));
}

/** Writes the reason of a failure to stderr and returns the exit code, 1. */
export function fail(message: string): number {
  printError(`${svcDialect.productToken}: ${message}`);
  return 1;
}

/** Writes a line to stderr. */
export function printError(line: string): void {
  writeAll(Deno.stderr, encoder.encode(`${line}\n`));
}

/** Returns whether a path names something that exists and is not a folder. */
export function isFile(path: string): boolean {
  try {
    return !Deno.statSync(path).isDirectory;
  } catch {
    return false;
  }
}

/** Returns the message of a thrown value. */
export function errorMessage(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

function writeAll(output: { writeSync(bytes: Uint8Array): number }, bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length;) at += output.writeSync(bytes.subarray(at));
}
