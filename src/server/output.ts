/**
 * The program's own output.
 *
 * @module
 */
import { svcDialect } from "../dialect.ts";

const encoder = new TextEncoder();

/** Writes a text to stdout. */
export function print(text: string): void {
  writeAll(Deno.stdout, encoder.encode(text));
}

/** Writes a line that says why the program ends; returns its exit code, 1. */
export function fail(message: string): number {
  complain(`${svcDialect.productToken}: ${message}`);
  return 1;
}

/** Writes a line to stderr. */
export function complain(line: string): void {
  writeAll(Deno.stderr, encoder.encode(`${line}\n`));
}

/** What to say of something that was thrown. */
export function textOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

function writeAll(output: { writeSync(bytes: Uint8Array): number }, bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length;) at += output.writeSync(bytes.subarray(at));
}
