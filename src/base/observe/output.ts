/** Output of the program apart from its logs. @module */
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

/** Returns rows of a table whose cells are as wide as their column, with `minWidth` characters at least. */
export function paddedRows(
  rows: readonly (readonly string[])[],
  minWidth = 0,
): readonly (readonly string[])[] {
  const widthOf = (text = "") => Array.from(text).length;
  const widths = rows[0]!.map((_, at) =>
    rows.reduce((width, row) => Math.max(width, widthOf(row[at])), minWidth)
  );
  return rows.map((row) => row.map((text, at) => text + " ".repeat(widths[at]! - widthOf(text))));
}
