/** Parses the arguments of the benchmark. @module */
import { parseArgs } from "node:util";
import { type LoadSet, loadSets } from "./cases.ts";
import { knownSets } from "./known_cases.ts";

/** A set of cases; one of {@linkcode namedSets} is measured only if it is named. */
export type CaseSet = LoadSet | "large" | NamedSet;

/** A set that is measured only if it is named. */
export type NamedSet = typeof namedSets[number];

const namedSets = [
  "guards",
  "features",
  "replicas",
  "bodies",
  "workers",
  "cost",
  ...knownSets,
] as const;

/** The sets of cases, in the order of their measurement. */
export const caseSets: readonly CaseSet[] = [...loadSets, "large", ...namedSets];

/** Options of the benchmark: the cases, and the runs of each case. */
export interface BenchOptions {
  readonly help: boolean;
  /** Earlier revision that the set `cost` compares with the current one; null for none. */
  readonly before: string | null;
  /** Numbers of threads that the set `workers` measures. */
  readonly workers: readonly number[];
  /** Seconds of each measured run. */
  readonly seconds: number;
  /** Measured runs of each case and server; 3 with a peer, else 1. */
  readonly rounds: number;
  readonly connections: number;
  /** The set whose cases are measured; null for all sets. */
  readonly set: CaseSet | null;
  /** Prints the names of the cases, instead of measuring them. */
  readonly listsCases: boolean;
  /** Selects the cases whose name contains one of these texts; all cases if empty. */
  readonly cases: readonly string[];
  /** Command of another server. `{conf}` is replaced by the path of its configuration file. */
  readonly peer: string | null;
  readonly json: boolean;
}

/** The text of `--help`. */
export const usage = `Usage: deno task bench [options]

  --seconds N       seconds of each measured run (default 5)
  --connections N   connections of the load (default 20)
  --set NAME        only cases of a set: plain, token, rls, large (default: these four), or
                    guards: limits, logs and compression, with and without
                    features: pages by cursors, agents' tools, one write in place of several
                    replicas: inserts and reads with and without bookmarks
                    bodies: answers of 100 MB and 3 GB, inserts of 50 MB and 1 GB, by format
                    workers: by numbers of threads
                    cost: processor time as multiples of a bare program's
                    known: the requests of benchmarks that others publish
                    policies: row-level security by owner, membership, claims
  --case NAME       only cases whose name contains NAME; may be repeated
  --rounds N        runs of each case (default 1; 3 with --peer); medians are shown
  --peer COMMAND    another server of the same interface to run in turn with this one;
                    {conf} in it stands for its configuration file
  --cases           the names of the cases, by set
  --cost            the same as --set cost
  --before REVISION an earlier revision beside which the set cost is measured
  --workers N,N,…   numbers of threads of the set workers (default 1,2)
  --json            results as JSON
  --help            this text

The load is made by wrk; processor time and memory are read from Linux's /proc.
SVC_TEST_POSTGRES_BIN chooses another PostgreSQL.`;

/** Parses the arguments. Throws an `Error` of one line for an invalid argument. */
export function parseOptions(args: readonly string[]): BenchOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      help: { type: "boolean", default: false },
      cost: { type: "boolean", default: false },
      before: { type: "string" },
      workers: { type: "string", default: "1,2" },
      seconds: { type: "string", default: "5" },
      rounds: { type: "string" },
      connections: { type: "string", default: "20" },
      set: { type: "string", default: "all" },
      cases: { type: "boolean", default: false },
      case: { type: "string", multiple: true, default: [] },
      peer: { type: "string" },
      json: { type: "boolean", default: false },
    },
  });
  const peer = values.peer ?? null;
  if (peer !== null && !peer.includes("{conf}")) throw new Error("--peer needs {conf} in it");
  return {
    help: values.help,
    before: values.before ?? null,
    workers: values.workers.split(",").map((each) => count("workers", each)),
    seconds: count("seconds", values.seconds),
    rounds: count("rounds", values.rounds ?? (peer === null ? "1" : "3")),
    connections: count("connections", values.connections),
    set: values.cost ? "cost" : caseSet(values.set),
    listsCases: values.cases,
    cases: values.case,
    peer,
    json: values.json,
  };
}

function caseSet(name: string): CaseSet | null {
  const set = caseSets.find((each) => each === name);
  if (set === undefined && name !== "all") {
    throw new Error(`--set takes one of ${[...caseSets, "all"].join(", ")}`);
  }
  return set ?? null;
}

function count(name: string, text: string): number {
  if (!/^[1-9]\d*$/.test(text)) throw new Error(`--${name} takes a number from 1 on`);
  return Number(text);
}

/** Returns whether the options select a case. */
export function isWanted({ cases }: Pick<BenchOptions, "cases">, name: string): boolean {
  return cases.length === 0 || cases.some((part) => name.includes(part));
}

/** Returns whether the options select a set of cases. */
export function isInSet({ set }: Pick<BenchOptions, "set">, name: CaseSet): boolean {
  return set === name || (set === null && !isNamedSet(name));
}

/** Whether a set is measured only if it is named. */
export function isNamedSet(set: CaseSet | null): set is NamedSet {
  return namedSets.some((each) => each === set);
}
