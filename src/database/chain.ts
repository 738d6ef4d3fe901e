/**
 * Batches that the server answers together: a Sync stands behind the last of them only. Each Sync costs
 * the server a write of its own, and this side much of a read.
 *
 * Batches that run no code of the database's own, and say the same, are one transaction: nobody can tell,
 * and the second locks what the first has locked, but for partitions. Others make a chain of transactions.
 *
 * What fails has the server pass over what comes before the next Sync.
 *
 * @module
 */
import type { Statement } from "./database.ts";
import { begin, ending, type Run, type Task } from "./run.ts";

/** Where a transaction stands in a chain, each of which begins with the end of the one before it. */
export type ChainPlace = "first" | "middle" | "last";

/**
 * The server is asked to send its answers after so many: this side can work on these while the server
 * works on the next ones.
 */
export const mostUntold = 6;

/** What is sent in one write. */
export interface Sending {
  /** Transactions by themselves; before those of a chain, which has a BEGIN that may have to be undone. */
  readonly single: readonly Task[];
  readonly chained: readonly Task[];
}

/** Says which of the tasks make a chain. */
export function sendingOf(tasks: readonly Task[]): Sending {
  const chained = tasks.length < 2 ? none : tasks.filter(mayChain);
  if (chained.length < 2) return { single: tasks, chained: none };
  return { single: tasks.filter((task) => !mayChain(task)), chained };
}

const none: readonly Task[] = [];

function mayChain({ batch: { inBlock, pace } }: Task): boolean {
  return inBlock !== undefined && pace !== undefined && pace.isSmooth;
}

/** The place of a chain's transaction. */
export function placeOf(at: number, length: number): ChainPlace {
  return at === 0 ? "first" : at === length - 1 ? "last" : "middle";
}

/** Whether two runs that follow each other are answered together. */
export function areLinked({ task: { batch }, mode, place }: Run, next: Run): boolean {
  if (place !== null) return place !== "last";
  return isQuietReading(mode, batch.footing) && batch.pace?.isSmooth === true &&
    isQuietReading(next.mode, next.task.batch.footing) &&
    saySame(batch.statements, next.task.batch.statements);
}

/** The session has the role of what reads, so that nothing of it is set. */
function isQuietReading(mode: Run["mode"], footing: Run["task"]["batch"]["footing"]): boolean {
  return mode === "check" && typeof footing === "object" && footing.inAnswer;
}

function saySame(some: readonly Statement[], others: readonly Statement[]): boolean {
  return some.length === others.length &&
    some.every(({ text }, index) => text === others[index]!.text);
}

/** What begins a run, before its own statements: these give the session its footing. */
export function beginningOf(run: Run, footing: readonly Statement[]): readonly Statement[] {
  const begins = run.isBlock && (run.place === null || run.place === "first");
  return begins ? [begin(run.task.batch), ...footing] : footing;
}

/** What ends a run, where its statements do not do so by themselves. */
export function endOf({ isBlock, place, task: { batch: { end } } }: Run): readonly Statement[] {
  if (!isBlock || typeof end !== "string") return nothing;
  return [place === "first" || place === "middle" ? goingOn : ending(end)];
}

const nothing: readonly Statement[] = [];

/** Begins a transaction of the same isolation level and access mode. */
const goingOn: Statement = { text: "commit and chain", params: [], use: "none" };

/** The statements of a run's batch. */
export function statementsOf({ place, task: { batch } }: Run): readonly Statement[] {
  const { statements, inBlock } = batch;
  return place === null || inBlock === undefined ? statements : [inBlock(), ...statements.slice(1)];
}
