/** A database that plans writes without executing them. EXPLAIN needs the same privileges as its
 * statement. @module */
import {
  metadataTransaction,
  type Statement,
  type Transaction,
  type TransactionResult,
} from "../../../database/transaction.ts";
import { interceptedDatabase } from "../../../database/intercepted.ts";
import type { Caller, Database } from "../../../database/database.ts";
import { DatabaseError } from "../../../base/errors/service_error.ts";

export class DryRun {
  /** The transaction of the request; null if the request needs no database. */
  transaction: Transaction | null = null;
  /** Whether a write was planned without error. */
  isPlanned = false;
  /** Whether `db-pre-request` was left out, because it writes. */
  leftOutPreRequest = false;
  readonly database: Database;

  constructor(database: Database) {
    this.database = interceptedDatabase(
      database,
      (transaction, caller) => this.#run(database, transaction, caller),
    );
  }

  async #run(
    database: Database,
    transaction: Transaction,
    caller?: Caller,
  ): Promise<TransactionResult> {
    if (transaction.statements.some(({ role }) => role === "main")) this.transaction = transaction;
    if (transaction.access === "read only") return await database.transaction(transaction, caller);
    try {
      await database.transaction(plannedTransaction(transaction, this.leftOutPreRequest), caller);
    } catch (error) {
      const isPreRequest = error instanceof DatabaseError && error.failure.sqlstate === "25006" &&
        transaction.statements[error.statement]?.role === "pre-request";
      if (!isPreRequest || this.leftOutPreRequest) throw error;
      this.leftOutPreRequest = true;
      return await this.#run(database, transaction, caller);
    }
    this.isPlanned = true;
    throw new Error("the write was planned and not executed");
  }
}

/** Returns the transaction with EXPLAIN in place of writes. Statements keep their positions, because
 * errors refer to positions. */
function plannedTransaction(
  { statements }: Transaction,
  leavesOutPreRequest: boolean,
): Transaction {
  const left = ["key", "reference", "answer", leavesOutPreRequest ? "pre-request" : ""];
  const planned = statements.map((statement): Statement => {
    const { role = "", text } = statement;
    if (left.includes(role)) return { text: "select 1", params: [], use: "none" };
    const isWrite = role === "main" || role === "level";
    return isWrite ? { ...statement, text: `explain ${text}`, use: "none" } : statement;
  });
  return { ...metadataTransaction([], "rollback"), statements: planned };
}
