/** Detects changes of a file by its time and size. @module */
import { statSync } from "node:fs";
import type { Schedule } from "../../base/lib/timers.ts";

export interface FileWatchOptions {
  readonly path: string;
  readonly onChange: () => void;
  readonly schedule: Schedule;
  /** Returns a text that changes when the file does. Default: its time and size. */
  readonly stateOf?: (path: string) => string;
}

/** Milliseconds between two checks. */
const intervalMs = 1000;

/** Checks the file each second. Returns a function that stops the checks. */
export function watchFile(
  { path, onChange, schedule, stateOf = timeAndSize }: FileWatchOptions,
): () => void {
  let last = stateOf(path);
  let cancel = () => {};
  const wait = () => {
    cancel = schedule(() => {
      const current = stateOf(path);
      if (current !== last) onChange();
      last = current;
      wait();
    }, intervalMs);
  };
  wait();
  return () => cancel();
}

function timeAndSize(path: string): string {
  try {
    const { mtimeMs, size } = statSync(path);
    return `${mtimeMs} ${size}`;
  } catch {
    return "absent";
  }
}
