/** Reads from `/proc` how much memory a process has; Linux only. @module */

/** Resident memory now (`VmRSS`), or at its highest since {@linkcode resetPeak} (`VmHWM`), in bytes. */
export async function memoryOf(pid: number, name: "VmRSS" | "VmHWM"): Promise<number> {
  const status = await Deno.readTextFile(`/proc/${pid}/status`);
  return Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, "m").exec(status)?.[1]) * 1024;
}

/** Resets `VmHWM` to the current resident memory. */
export async function resetPeak(pid: number): Promise<void> {
  await Deno.writeTextFile(`/proc/${pid}/clear_refs`, "5");
}
