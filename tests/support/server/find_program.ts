/** Finds programs that the system may have installed. @module */
import { join } from "node:path";

/** Debian installs servers there, which is not on the path of every user. */
const serverFolder = "/usr/sbin";

/** Returns the path of a program, or null where it is not installed. */
export function findProgram(name: string): string | null {
  const folders = [...(Deno.env.get("PATH") ?? "").split(":"), serverFolder];
  return folders.map((folder) => join(folder, name)).find(isFile) ?? null;
}

function isFile(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
}
