/**
 * Writes to the standard streams through their file descriptors. `node:process` would make a pipe
 * non-blocking for other processes that share it, and lose output when the process exits. @module
 */
import { write, writeSync } from "node:fs";
import { wait } from "../lib/time_limits.ts";

export const stdout = 1;
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
