/** Reads files of cases, and included files. @module */
import { dirname, resolve } from "node:path";
import { parseCaseFile } from "./case_file.ts";
import type { FixtureScript } from "./fixtures.ts";
import { readBytes, shortPath } from "../../../base/lib/files.ts";
import { errorMessage } from "../../../base/errors/error_message.ts";

/** Reads a file of cases. Throws an `Error` with the position of a problem. */
export function readCases(path: string) {
  return read(path, (text) => ({ name: path, text, file: parseCaseFile(text) }));
}

/** Reads an included script. */
export function readInclude(path: string, { name }: FixtureScript): FixtureScript {
  const included = shortPath(resolve(dirname(name), path));
  return read(included, (text) => ({ name: included, text: text.replace(/^\uFEFF/, "") }));
}

/** Reads and parses a file. A byte order mark is kept, because commands write the text back. */
function read<Result>(path: string, parse: (text: string) => Result): Result {
  try {
    const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
    return parse(decoder.decode(readBytes(path).content));
  } catch (error) {
    throw new Error(`cannot run ${path}: ${errorMessage(error)}`, { cause: error });
  }
}
