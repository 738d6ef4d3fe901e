/** Notices changes of files by their time and size. @module */
import { statSync } from "node:fs";
import type { Schedule } from "../lib/timers.ts";

/** Dependencies of {@linkcode watchFiles}. */
export interface FileWatchOptions {
  readonly paths: readonly string[];
  readonly onChange: () => void;
  readonly schedule: Schedule;
  /** Returns a text that changes with the file. Default: its time and size. */
  readonly stateOf?: (path: string) => string;
}

/** Milliseconds between two looks. */
const intervalMs = 1000;

/** Looks at the files each second. Returns a function that stops. */
export function watchFiles(
  { paths, onChange, schedule, stateOf = timeAndSize }: FileWatchOptions,
): () => void {
  const look = () => paths.map(stateOf).join("\n");
  let known = look();
  let cancel = () => {};
  const wait = () => {
    cancel = schedule(() => {
      const found = look();
      if (found !== known) onChange();
      known = found;
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
