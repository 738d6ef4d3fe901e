/** Queries a server for its state periodically. @module */
import { DatabaseError } from "../../base/errors/service_error.ts";
import type { Clock } from "../../base/lib/clock.ts";
import type { ResultColumns, Statement } from "../transaction.ts";
import { parseLsn } from "../wal_position.ts";

/** Maximum time of an answer, in milliseconds. */
export const maxAnswerMs = 1000;

/** Time between two queries. It bounds the error of the measured lag. */
const periodMs = 250;

/** A connection outside of the pool, for queries about the state of a server. */
export interface ServerProbe {
  /**
   * Returns the first row of a statement. Rejects if the server cannot be reached or refuses the
   * statement, and with `requestTimeout` if no answer arrives within {@linkcode maxAnswerMs}.
   */
  ask(statement: Statement): Promise<ResultColumns>;
  close(): Promise<void>;
}

/** The queries of a {@linkcode monitor}, and its events. */
interface MonitorTask<Answer> {
  ask(): Promise<Answer>;
  answered(answer: Answer): void;
  failed(error: unknown): void;
}

/** Repeats a task. Returns a function that stops it; later answers are ignored. */
export function monitor<Answer>(task: MonitorTask<Answer>, clock: Clock): () => void {
  let isStopped = false;
  let cancelTimer = () => {};
  const finish = (report: () => void) => {
    if (isStopped) return;
    report();
    // No query follows if the callback has stopped the monitor.
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

export interface StandbyState {
  readonly isInRecovery: boolean;
  /** End of the log that the server has replayed; 0 for a primary. */
  readonly replayed: bigint;
  /** Null if the caller did not request it, or if the server does not report it. */
  readonly timeline: number | null;
  /** Null if the caller did not request it, or if the server does not report it. */
  readonly systemIdentifier: string | null;
}

/** Queries the state of a server. Rejects if it is unreachable. */
export async function askState(
  probe: ServerProbe,
  { wantsTimeline, wantsIdentifier }: Record<"wantsTimeline" | "wantsIdentifier", boolean>,
): Promise<StandbyState> {
  const [recovery, lsn] = await probe.ask(statements.state);
  const timeline = wantsTimeline ? await askIfPossible(probe, statements.timeline) : null;
  return {
    isInRecovery: recovery === "t",
    replayed: parseLsn(lsn ?? "") ?? 0n,
    timeline: timeline === null ? null : Number(timeline),
    systemIdentifier: wantsIdentifier ? await askIdentifier(probe) : null,
  };
}

/** Queries the identifier of a server's cluster. A standby has the identifier of its primary. */
export function askIdentifier(probe: ServerProbe): Promise<string | null> {
  return askIfPossible(probe, statements.identifier);
}

/** Returns the first value; null if a function does not exist, or the role may not call it. */
async function askIfPossible(probe: ServerProbe, statement: Statement): Promise<string | null> {
  try {
    const [value = null] = await probe.ask(statement);
    return value;
  } catch (error) {
    if (error instanceof DatabaseError && isUnsupported(error.failure.sqlstate)) return null;
    throw error;
  }
}

/** Returns whether a function is missing (42883, 0A000, 55000), or not permitted to the role (42501). */
function isUnsupported(sqlstate: string): boolean {
  return ["0A000", "42501", "42883", "42P01", "42703", "55000"].includes(sqlstate);
}

/** SQL of the timeline in the control file. After a failover, it changes only with the next restartpoint. */
const controlTimeline = "greatest((select timeline_id from pg_catalog.pg_control_checkpoint()), " +
  "(select min_recovery_end_timeline from pg_catalog.pg_control_recovery()))";

const statements = {
  state: statement("select pg_catalog.pg_is_in_recovery(), pg_catalog.pg_last_wal_replay_lsn()"),
  /** SQL of the timeline. The WAL receiver has the new timeline directly after a failover, but shows it
   * only to `pg_read_all_stats`. */
  timeline: statement(
    "select greatest((select received_tli from pg_catalog.pg_stat_wal_receiver), " +
      `${controlTimeline})`,
  ),
  identifier: statement("select system_identifier from pg_catalog.pg_control_system()"),
} as const;

function statement(text: string): Statement {
  return { text, params: [], use: "rows" };
}
