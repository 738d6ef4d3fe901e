/**
 * Writes to the standard streams through their file descriptors. The streams of `node:process` would
 * make a pipe non-blocking for other processes that share it, and lose output when the process exits.
 *
 * @module
 */
import { readSync, write, writeSync } from "node:fs";
import { wait } from "../lib/deadline.ts";

/** File descriptor of the standard input. */
const stdin = 0;
/** File descriptor of the standard output. */
export const stdout = 1;
/** File descriptor of the standard error output. */
export const stderr = 2;

/** Milliseconds before the next attempt to write to a pipe that is full and non-blocking. */
const fullPipeDelayMs = 5;

/** Writes all bytes. Rejects if the reader has closed the pipe. */
export async function writeAll(descriptor: number, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length;) {
    const written = await writePart(descriptor, bytes.subarray(at));
    if (written === 0) await wait(fullPipeDelayMs);
    at += written;
  }
}

/** Resolves with the number of bytes written: 0 if the pipe is full. */
function writePart(descriptor: number, bytes: Uint8Array): Promise<number> {
  return new Promise((resolve, reject) => {
    write(descriptor, bytes, (error, written) => {
      if (error === null) resolve(written);
      else if (error.code === "EAGAIN") resolve(0);
      else reject(error);
    });
  });
}

/**
 * Returns the next line of the standard input without its end; null at the end of the input. Blocks the
 * thread.
 */
export function readLine(): string | null {
  const bytes: number[] = [];
  const byte = new Uint8Array(1);
  while (readPartSync(byte) > 0) {
    if (byte[0] === 0x0a) return new TextDecoder().decode(new Uint8Array(bytes));
    bytes.push(byte[0]!);
  }
  return bytes.length === 0 ? null : new TextDecoder().decode(new Uint8Array(bytes));
}

function readPartSync(bytes: Uint8Array): number {
  while (true) {
    try {
      return readSync(stdin, bytes);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === "EOF") return 0;
      if (code !== "EAGAIN") throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, fullPipeDelayMs);
    }
  }
}

/** Writes all bytes before it returns. Throws if the reader has closed the pipe. */
export function writeAllSync(descriptor: number, bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length;) at += writePartSync(descriptor, bytes.subarray(at));
}

function writePartSync(descriptor: number, bytes: Uint8Array): number {
  try {
    return writeSync(descriptor, bytes);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EAGAIN") throw error;
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, fullPipeDelayMs);
    return 0;
  }
}
