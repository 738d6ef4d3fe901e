/** Reads data for svc itself, in transactions that roll back. @module */
import type { Database } from "./database.ts";
import { metadataTransaction, type Statement } from "./transaction.ts";

/** Runs statements in a {@linkcode metadataTransaction}. Resolves with the rows of the last statement. */
export async function readRows(
  database: Pick<Database, "transaction">,
  ...statements: readonly Statement[]
): Promise<readonly (readonly (string | null)[])[]> {
  const { rows } = await database.transaction(metadataTransaction(statements, "rollback"));
  return rows.at(-1) ?? [];
}

/** Runs statements as {@linkcode readRows} does. Resolves with the JSON value of the last statement. */
export async function readJson<Value>(
  database: Pick<Database, "transaction">,
  ...statements: readonly Statement[]
): Promise<Value> {
  const [row] = await readRows(database, ...statements);
  return JSON.parse(row![0]!);
}
