/** The runtime's files, for adapters that also run in browsers and Workers. @module */
import { type BuiltinModule, builtinModule } from "../../base/lib/builtin_modules.ts";

export interface Files {
  readonly fs: BuiltinModule<"node:fs">;
  readonly path: BuiltinModule<"node:path">;
  readonly zlib: BuiltinModule<"node:zlib">;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly pid: number;
  /** Id of the user that runs the process; null where files have no owners. */
  readonly uid: number | null;
  readonly isRunning: (pid: number) => boolean;
  /** Returns when a process started, in clock ticks of the system; empty if that is unknown. */
  readonly startTimeOf: (pid: number) => string;
}

interface Process {
  readonly pid?: number;
  readonly env?: Record<string, string | undefined>;
  getuid?(): number;
  kill?(pid: number, signal: number): void;
}

/** Returns access to files; null in runtimes without them. */
export function runtimeFiles(): Files | null {
  const { process } = globalThis as { process?: Process };
  const fs = builtinModule("node:fs");
  const path = builtinModule("node:path");
  const zlib = builtinModule("node:zlib");
  if (fs?.readFileSync === undefined || !path || !zlib || process?.pid === undefined) return null;
  return {
    fs,
    path,
    zlib,
    environment: process.env ?? {},
    pid: process.pid,
    uid: process.getuid?.() ?? null,
    isRunning(pid) {
      try {
        process.kill?.(pid, 0);
        return true;
      } catch (error) {
        // With EPERM, the process runs, but belongs to another user.
        return (error as { code?: unknown }).code !== "ESRCH";
      }
    },
    startTimeOf: (pid) => startTimeOf(fs, pid),
  };
}

/** Returns the 22nd field of a process's `stat` on Linux. */
function startTimeOf(fs: Files["fs"], pid: number): string {
  try {
    const stat = fs.readFileSync(`/proc/${pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? "";
  } catch {
    return "";
  }
}
