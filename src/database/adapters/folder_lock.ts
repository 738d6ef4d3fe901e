/**
 * Locks the folder of an embedded database. Two engines would destroy its data.
 *
 * @module
 */
import type { Files } from "./files.ts";

/** The process that holds a lock. */
interface Holder {
  readonly pid: number;
  readonly startTime: string;
}

/**
 * Locks a folder by a file beside it, `<folder>.lock`, which holds the process's id. Takes over the lock
 * of a process that has ended. Returns a function that removes the lock. Throws an `Error` if another
 * process, or this one, has locked the folder.
 */
export function lockFolder(files: Files, folder: string): () => void {
  const { fs, path, pid, startTimeOf } = files;
  const file = `${folder}.lock`;
  const own = `${pid} ${startTimeOf(pid)}\n`;
  fs.mkdirSync(path.dirname(folder), { recursive: true });
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    if (tryWrite(fs, file, own)) return () => fs.rmSync(file, { force: true });
    const holder = readHolder(fs, file);
    if (holder !== null && isHeld(files, holder)) {
      throw new Error(`${path.basename(folder)} is in use by process ${holder.pid}`);
    }
    fs.rmSync(file, { force: true });
  }
  throw new Error(`cannot lock ${folder}: ${file} is written by other processes`);
}

/** Processes that start at the same time may take over the same lock. */
const maxAttempts = 10;

function tryWrite(fs: Files["fs"], file: string, text: string): boolean {
  try {
    fs.writeFileSync(file, text, { flag: "wx", mode: 0o600 });
    return true;
  } catch (error) {
    if ((error as { code?: unknown }).code === "EEXIST") return false;
    throw error;
  }
}

function readHolder(fs: Files["fs"], file: string): Holder | null {
  try {
    const [, pid, startTime = ""] = /^(\d+) ?(\d*)\n$/.exec(fs.readFileSync(file, "utf8")) ?? [];
    return pid === undefined ? null : { pid: Number(pid), startTime };
  } catch {
    return null;
  }
}

/** A process with another start time has got the id of one that has ended, as in a new container. */
function isHeld({ isRunning, startTimeOf }: Files, { pid, startTime }: Holder): boolean {
  return isRunning(pid) && startTimeOf(pid) === startTime;
}
