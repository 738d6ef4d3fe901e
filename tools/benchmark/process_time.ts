/** Reads from `/proc` how much processor time processes have used; Linux only. @module */

/** Nanoseconds of a tick in `/proc/<pid>/stat`, the same on all architectures of Deno. */
const nanosecondsPerTick = 10_000_000;

/** A process with its parent and its processor time. Times are the sum of user and system ticks. */
export interface ProcessStat {
  readonly pid: number;
  readonly parent: number;
  /** Ticks of the process with all its threads. */
  readonly own: number;
  /** Ticks of the process's children that have ended. */
  readonly ended: number;
}

/** Reads a line of `/proc/<pid>/stat`. A program's name may hold spaces and parentheses. */
export function parseStat(line: string): ProcessStat {
  const fields = line.slice(line.lastIndexOf(")") + 2).split(" ");
  const [user, system, endedUser, endedSystem] = fields.slice(11, 15).map(Number);
  return {
    pid: parseInt(line),
    parent: Number(fields[1]),
    own: user! + system!,
    ended: endedUser! + endedSystem!,
  };
}

/** Returns a process and its descendants. */
export function treeOf(root: number, stats: readonly ProcessStat[]): readonly ProcessStat[] {
  const own = stats.filter(({ pid }) => pid === root);
  const children = stats.filter(({ parent }) => parent === root);
  return [...own, ...children.flatMap(({ pid }) => treeOf(pid, stats))];
}

/** Returns the microseconds of processor time that a process and its descendants have used. */
export async function processTime(root: number): Promise<number> {
  const times = treeOf(root, await allStats()).map(async (stat) =>
    nanoseconds(stat, await threadTimes(stat.pid))
  );
  return (await Promise.all(times)).reduce((sum, each) => sum + each, 0) / 1000;
}

/**
 * Returns the nanoseconds of a process and its ended children. The times of threads are exact, but do
 * not include threads that have ended. The ticks of the process include all threads.
 */
export function nanoseconds({ own, ended }: ProcessStat, threads: readonly number[]): number {
  const sum = threads.reduce((sum, each) => sum + each, 0);
  return Math.max(own * nanosecondsPerTick, sum) + ended * nanosecondsPerTick;
}

/** Returns the microseconds that all processors have worked since the start of the machine. */
export async function machineTime(): Promise<number> {
  return parseMachine(await Deno.readTextFile("/proc/stat")) * nanosecondsPerTick / 1000;
}

/** Ticks of work in the first line of `/proc/stat`. */
export function parseMachine(text: string): number {
  const [user, nice, system, _idle, _waiting, interrupts, softInterrupts] = text
    .split("\n", 1)[0]!.split(/ +/).slice(1).map(Number);
  return user! + nice! + system! + interrupts! + softInterrupts!;
}

async function allStats(): Promise<readonly ProcessStat[]> {
  const entries = await Array.fromAsync(Deno.readDir("/proc"));
  const stats = entries.filter(({ name }) => /^\d+$/.test(name)).map(({ name }) =>
    // A process may have ended after the folder was read.
    Deno.readTextFile(`/proc/${name}/stat`).then(parseStat, () => null)
  );
  return (await Promise.all(stats)).filter((stat) => stat !== null);
}

/** Nanoseconds of each thread; empty where the kernel does not count them. */
async function threadTimes(pid: number): Promise<readonly number[]> {
  const folder = `/proc/${pid}/task`;
  const entries = await Array.fromAsync(Deno.readDir(folder)).catch(() => []);
  return await Promise.all(entries.map(({ name }) =>
    // The first number of the line is the time on a processor.
    Deno.readTextFile(`${folder}/${name}/schedstat`).then(parseFloat, () => 0)
  ));
}
