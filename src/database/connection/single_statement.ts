/** Single statements on a connection outside of a pool: LISTEN, and probes of a server. @module */
import { type Clock, systemClock } from "../../base/lib/clock.ts";
import { failureReason } from "../failure.ts";
import { metadataTransaction, type Transaction, type TransactionResult } from "../transaction.ts";
import type { Connection } from "./connection.ts";
import type { ResultSettler } from "./execution.ts";

/** Options of connections for {@linkcode executeSingle}. */
export const singleStatementOptions = {
  prepare: false,
  sharesSession: false,
  preparedLimit: 0,
  clock: systemClock,
} as const;

/** Returns a transaction of one statement without BEGIN, so that `pg_stat_activity` shows the statement
 * afterwards. */
export function singleStatement(text: string): Transaction {
  const statements = [{ text, params: [], use: "rows" }] as const;
  return { ...metadataTransaction([]), block: null, statements, isTraced: false };
}

interface AnswerLimit {
  /** Closed if no answer arrives within `maxMs`. */
  readonly connection: Connection;
  readonly maxMs: number;
  /** Default: the runtime's timers. */
  readonly clock?: Pick<Clock, "schedule">;
}

/** Resolves with the result of a transaction that `execute` sends. If the result does not arrive in
 * time, closes the connection, so that the transaction fails. */
export async function answerInTime(
  { connection, maxMs, clock = systemClock }: AnswerLimit,
  execute: (settler: ResultSettler) => void,
): Promise<TransactionResult> {
  const reason = `the server did not answer within ${maxMs / 1000} s`;
  const cancelTimer = clock.schedule(() => connection.destroy(reason), maxMs);
  try {
    return await new Promise((resolve, reject) => execute({ resolve, reject }));
  } finally {
    cancelTimer();
  }
}

/** Executes a statement, and resolves with its rows. Rejects with an `Error` that has the reason. */
export async function executeSingle(
  text: string,
  limit: AnswerLimit,
): Promise<readonly (readonly (string | null)[])[]> {
  const transaction = singleStatement(text);
  try {
    const { rows } = await answerInTime(
      limit,
      (settler) => limit.connection.execute([{ transaction, ...settler }]),
    );
    return rows[0]!;
  } catch (error) {
    throw new Error(failureReason(error));
  }
}
