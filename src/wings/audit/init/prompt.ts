/** Questions on a terminal. @module */
import { readSync } from "node:fs";
import { isatty } from "node:tty";
import { print } from "../../../base/observe/output.ts";

/** Returns whether input and output are a terminal, so that the program can ask. */
export function isInteractive(): boolean {
  return isatty(0) && isatty(1);
}

/** Repeats a question until the answer is valid. `read` throws an `Error` with the problem of an answer. */
export function ask<Answer>(
  question: string,
  fallback: string | null,
  read: (text: string) => Answer,
): Answer {
  for (;;) {
    print(`${question}${fallback === null ? "" : ` [${fallback}]`}: `);
    const text = readLine().trim();
    try {
      return read(text === "" && fallback !== null ? fallback : text);
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      print(`  ${error.message}\n`);
    }
  }
}

/** Asks a question whose default is no. */
export function confirm(question: string): boolean {
  print(`${question} [y/N] `);
  return /^y(es)?$/i.test(readLine().trim());
}

/** Reads bytes one by one, so that the rest of the input is left for the next question. */
function readLine(): string {
  const bytes: number[] = [];
  const byte = new Uint8Array(1);
  for (;;) {
    if (readByte(byte) === 0) {
      if (bytes.length === 0) throw new Error("the terminal was closed before an answer");
      break;
    }
    if (byte[0] === 0x0a) break;
    bytes.push(byte[0]!);
  }
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(Uint8Array.from(bytes)).replace(
    /\r$/,
    "",
  );
}

/** Milliseconds between two reads of a non-blocking terminal. */
const pollMs = 20;

function readByte(byte: Uint8Array): number {
  for (;;) {
    try {
      return readSync(0, byte);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EAGAIN") throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, pollMs);
    }
  }
}
