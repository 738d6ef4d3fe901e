/** The questions of monitors about the state of a server, and their answers. @module */
import { DatabaseError } from "../../errors/service_error.ts";
import type { ResultColumns, Statement } from "../batch.ts";
import { parseLsn } from "../wal_position.ts";
import type { ServerProbe } from "./monitor.ts";

export interface StandbyState {
  readonly isInRecovery: boolean;
  /** End of the log that the server has replayed; 0 for a primary. */
  readonly replayed: bigint;
  /** Null if it is not wanted, or the server cannot tell. */
  readonly timeline: number | null;
  /** Null if it is not wanted, or the server cannot tell. */
  readonly systemIdentifier: string | null;
}

/** Facts of a server that change rarely. */
interface StandbyQuestions {
  readonly wantsTimeline: boolean;
  readonly wantsIdentifier: boolean;
}

/** Asks a server for its state. Rejects if it cannot be reached. */
export async function askState(
  probe: ServerProbe,
  { wantsTimeline, wantsIdentifier }: StandbyQuestions,
): Promise<StandbyState> {
  const [recovery, lsn] = await probe.ask(statements.state);
  const [timeline = null] = wantsTimeline
    ? await askIfPossible(probe, statements.timeline) ?? noColumns
    : noColumns;
  return {
    isInRecovery: recovery === "t",
    replayed: parseLsn(lsn ?? "") ?? 0n,
    timeline: timeline === null ? null : Number(timeline),
    systemIdentifier: wantsIdentifier ? await askIdentifier(probe) : null,
  };
}

/** Asks which cluster a server belongs to: a standby has the identifier of its primary. */
export async function askIdentifier(probe: ServerProbe): Promise<string | null> {
  return (await askIfPossible(probe, statements.identifier))?.[0] ?? null;
}

/** Returns null if the server refuses the statement, for lack of a function or a privilege. */
async function askIfPossible(
  probe: ServerProbe,
  statement: Statement,
): Promise<ResultColumns | null> {
  try {
    return await probe.ask(statement);
  } catch (error) {
    if (error instanceof DatabaseError && isUnsupported(error.failure.sqlstate)) return null;
    throw error;
  }
}

/** Whether a server lacks a function (42883, 0A000, 55000), or permits it to others (42501). */
function isUnsupported(sqlstate: string): boolean {
  return ["0A000", "42501", "42883", "42P01", "42703", "55000"].includes(sqlstate);
}

const noColumns: ResultColumns = [];

/** Never ahead; it follows at the next restartpoint after a failover. */
const controlTimeline = "greatest((select timeline_id from pg_catalog.pg_control_checkpoint()), " +
  "(select min_recovery_end_timeline from pg_catalog.pg_control_recovery()))";

const statements = {
  state: statement("select pg_catalog.pg_is_in_recovery(), pg_catalog.pg_last_wal_replay_lsn()"),
  /** The receiver's, which only `pg_read_all_stats` shows, is known at once after a failover. */
  timeline: statement(
    "select greatest((select received_tli from pg_catalog.pg_stat_wal_receiver), " +
      `${controlTimeline})`,
  ),
  identifier: statement("select system_identifier from pg_catalog.pg_control_system()"),
} as const;

function statement(text: string): Statement {
  return { text, params: [], use: "rows" };
}
