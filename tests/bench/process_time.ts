/**
 * Reads from `/proc` how much processor time processes have used; Linux only.
 *
 * @module
 */

/** The kernel tells time in hundredths of a second on every architecture that Deno runs on. */
const microsecondsPerTick = 10_000;

/** One process's own time and that of its children which have ended, in ticks, and its parent. */
export interface ProcessStat {
  readonly pid: number;
  readonly parent: number;
  readonly ticks: number;
}

/** Reads a line of `/proc/<pid>/stat`. A program's name may hold spaces and parentheses. */
export function parseStat(line: string): ProcessStat {
  const fields = line.slice(line.lastIndexOf(")") + 2).split(" ");
  const times = fields.slice(11, 15).map(Number);
  return {
    pid: parseInt(line),
    parent: Number(fields[1]),
    ticks: times.reduce((sum, time) => sum + time, 0),
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
  const ticks = treeOf(root, await allStats()).map((stat) => stat.ticks);
  return ticks.reduce((sum, each) => sum + each, 0) * microsecondsPerTick;
}

async function allStats(): Promise<readonly ProcessStat[]> {
  const entries = await Array.fromAsync(Deno.readDir("/proc"));
  const stats = entries.filter(({ name }) => /^\d+$/.test(name)).map(({ name }) =>
    // A process may have ended since.
    Deno.readTextFile(`/proc/${name}/stat`).then(parseStat, () => null)
  );
  return (await Promise.all(stats)).filter((stat) => stat !== null);
}
