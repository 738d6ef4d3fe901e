/** Output of the program apart from its logs, and a look at its files. @module */
import { statSync } from "node:fs";
import { svcDialect } from "../dialect.ts";
import { stderr, stdout, writeAllSync } from "./standard_streams.ts";

const encoder = new TextEncoder();

/** Writes a text to stdout. */
export function print(text: string): void {
  writeAllSync(stdout, encoder.encode(text));
}

/** Writes the reason of a failure to stderr and returns the exit code, 1. */
export function fail(message: string): number {
  printError(`${svcDialect.productToken}: ${message}`);
  return 1;
}

/** Writes a line to stderr. */
export function printError(line: string): void {
  writeAllSync(stderr, encoder.encode(`${line}\n`));
}

/** Returns whether a path names something that exists and is not a folder. */
export function isFile(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isDirectory() === false;
  } catch {
    return false;
  }
}

/** Returns the message of a thrown value. */
export function errorMessage(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
