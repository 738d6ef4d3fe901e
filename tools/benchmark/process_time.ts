/** Reads from `/proc` how much processor time processes have used; Linux only. @module */

/** `/proc/<pid>/stat` is in hundredths of a second on every architecture that Deno runs on. */
const nanosecondsPerTick = 10_000_000;

/** A process, its parent and processor time, user and system, in ticks. */
export interface ProcessStat {
  readonly pid: number;
  readonly parent: number;
  /** Of the process with all its threads. */
  readonly own: number;
  /** Of its children that have ended. */
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

/** The processes that descend from one, and itself. */
export function treeOf(root: number, stats: readonly ProcessStat[]): readonly ProcessStat[] {
  const own = stats.filter(({ pid }) => pid === root);
  const children = stats.filter(({ parent }) => parent === root);
  return [...own, ...children.flatMap(({ pid }) => treeOf(pid, stats))];
}

/** Microseconds of processor time that a process and its descendants have used so far. */
export async function processTime(root: number): Promise<number> {
  const times = treeOf(root, await allStats()).map(async (stat) =>
    nanoseconds(stat, await threadTimes(stat.pid))
  );
  return (await Promise.all(times)).reduce((sum, each) => sum + each, 0) / 1000;
}

/**
 * Nanoseconds of a process and its ended children. The times of threads are exact, but lack the
 * threads that have ended; the ticks of the process include those.
 */
export function nanoseconds({ own, ended }: ProcessStat, threads: readonly number[]): number {
  const sum = threads.reduce((sum, each) => sum + each, 0);
  return Math.max(own * nanosecondsPerTick, sum) + ended * nanosecondsPerTick;
}

/** Microseconds that all processors have worked so far, for whatever process. */
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
    // A process may have ended since.
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
