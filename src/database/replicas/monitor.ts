/** Asks a server for its state again and again. @module */
import type { Clock } from "../../lib/clock.ts";
import type { ResultColumns, Statement } from "../batch.ts";

/** Milliseconds that a server may take to answer. */
export const maxAnswerMs = 1000;

/** Four answers a second bound the error of the lag. */
const periodMs = 250;

/** A connection apart from a pool, for questions about the state of a server. */
export interface ServerProbe {
  /**
   * Returns the first row of a statement. Rejects if the server cannot be reached or refuses it, and with
   * `requestTimeout` if it does not answer within {@linkcode maxAnswerMs}.
   */
  ask(statement: Statement): Promise<ResultColumns>;
  close(): Promise<void>;
}

/** The questions of a {@linkcode monitor}, and its events. */
interface MonitorTask<Answer> {
  ask(): Promise<Answer>;
  answered(answer: Answer): void;
  failed(error: unknown): void;
}

/** Repeats a task. Returns a function that stops it; an answer that comes later is ignored. */
export function monitor<Answer>(task: MonitorTask<Answer>, clock: Clock): () => void {
  let isStopped = false;
  let cancelTimer = () => {};
  const finish = (report: () => void) => {
    if (isStopped) return;
    report();
    // The report may have stopped it.
    if (!isStopped) cancelTimer = clock.schedule(ask, periodMs);
  };
  const ask = () => {
    task.ask().then(
      (answer) => finish(() => task.answered(answer)),
      (error) => finish(() => task.failed(error)),
    );
  };
  ask();
  return () => {
    isStopped = true;
    cancelTimer();
  };
}
