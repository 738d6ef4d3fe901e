/** Kills a process with its children, as a power cut does. @module */
import { eventually } from "../timing/eventually.ts";

interface ProcessEntry {
  readonly pid: number;
  readonly parent: number;
  /** `Z` for a process that has ended and whose parent has not read its status. */
  readonly state: string;
}

/** Sends SIGKILL to a process and its children, and resolves when all of them have ended. */
export async function killFamily(parent: number): Promise<void> {
  const family = (await listProcesses()).filter((entry) =>
    entry.pid === parent || entry.parent === parent
  );
  for (const { pid } of family) kill(pid);
  const pids = new Set(family.map(({ pid }) => pid));
  await eventually(`process ${parent} and its children have ended`, async () => {
    const entries = await listProcesses();
    return !entries.some(({ pid, state }) => pids.has(pid) && !state.startsWith("Z"));
  });
}

async function listProcesses(): Promise<readonly ProcessEntry[]> {
  const { stdout } = await new Deno.Command("ps", {
    args: ["-A", "-o", "pid=,ppid=,stat="],
  }).output();
  return new TextDecoder().decode(stdout).trim().split("\n").map((line) => {
    const [pid, parent, state = ""] = line.trim().split(/\s+/);
    return { pid: Number(pid), parent: Number(parent), state };
  });
}

/** A process that has ended already is no failure. */
function kill(pid: number): void {
  try {
    Deno.kill(pid, "SIGKILL");
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}
