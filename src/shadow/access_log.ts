/** Reads request lines from an access log in the common or combined format. @module */
import type { ReadLine } from "./tally.ts";

/** Returns the request of a line; null for other lines. */
export function requestOfLine(line: string): ReadLine | null {
  const [, method, target] = /\] "([A-Z]+) (\/\S*) HTTP\/[\d.]+" \d{3} /.exec(line) ?? [];
  if (method === undefined || target === undefined) return null;
  // nginx writes a quotation mark as \x22.
  const bytes = (_: string, hex: string) => `%${hex}`;
  return { method, target: target.replace(/\\x([0-9A-F]{2})/g, bytes).replace(/\\"/g, "%22") };
}
