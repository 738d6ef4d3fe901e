/** The conditions of a run of the benchmark: date, machine, versions and method. @module */
import type { Bench } from "./bench.ts";

/** Conditions of a run of the benchmark, in words. */
export interface RunFacts {
  /** `2026-11-23` */
  readonly date: string;
  /** Abbreviated hash of the commit. */
  readonly revision: string;
  /** First line of `<peer> --version`; null without a peer. */
  readonly peer: string | null;
  readonly machine: string;
  readonly versions: string;
  readonly method: string;
  /** A sentence about the run, added by hand. */
  readonly remark: string | null;
}

/** Reads the conditions of a run. Linux only. */
export async function runFacts({ options, postgres }: Bench): Promise<RunFacts> {
  const { peer, seconds, rounds, connections } = options;
  const [, processor = "unknown processors"] =
    /^model name\s*: (.*)$/m.exec(await Deno.readTextFile("/proc/cpuinfo")) ?? [];
  const gigabytes = Math.round(Deno.systemMemoryInfo().total / 1e9);
  return {
    date: new Date().toISOString().slice(0, 10),
    revision: await firstLine(`git -C '${import.meta.dirname}' rev-parse --short HEAD`),
    peer: peer === null ? null : await firstLine(peer.replaceAll("{conf}", "--version")),
    machine: `${navigator.hardwareConcurrency} cores of ${processor}, ${gigabytes} GB`,
    versions: `Deno ${Deno.version.deno}, PostgreSQL ${postgres.version}`,
    method: `${connections} connections; ${seconds} s for each run; runs of a case: ${rounds}`,
    remark: null,
  };
}

async function firstLine(command: string): Promise<string> {
  const { stdout } = await new Deno.Command("sh", { args: ["-c", command] }).output();
  return new TextDecoder().decode(stdout).split("\n", 1)[0]!;
}
