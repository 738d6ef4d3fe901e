/** Explains permitted requests as their roles. @module */
import type { DescribedOperation } from "../../../api/response/openapi/described_operation.ts";
import { explained } from "../../../api/transaction/cost_limit.ts";
import { queryOf } from "../../../api/transaction/data_plan.ts";
import { DatabaseError } from "../../../base/errors/service_error.ts";
import { compile, param, sql } from "../../../base/sql/fragment.ts";
import type { Database } from "../../../database/database.ts";
import { readRows } from "../../../database/read_rows.ts";
import type { Statement } from "../../../database/transaction.ts";

/** A node of EXPLAIN (FORMAT JSON). */
export interface ExplainNode {
  readonly [name: string]: unknown;
  readonly Plans?: readonly ExplainNode[];
}

/** Explains the statements of an operation. EXPLAIN also checks the role's privileges. Resolves with
 * the plan or the error; null if a type rejects a sample value. */
export async function explainOperation(
  { plan }: DescribedOperation,
  role: string,
  database: Database,
): Promise<ExplainNode | DatabaseError | null> {
  const settings = sql`select pg_catalog.set_config('role', ${param(role)}, true),
    pg_catalog.set_config('request.jwt.claims', '{}', true)`;
  const { main, writes = [] } = queryOf(plan);
  const statements: readonly Statement[] = [
    { ...compile(settings), use: "none" },
    ...writes.map(({ statement }) => explained(statement)),
    explained(main),
  ];
  try {
    const lines = await readRows(database, ...statements);
    const [{ Plan: root }] = JSON.parse(lines.map(([line]) => line).join("\n"));
    return root;
  } catch (error) {
    if (!(error instanceof DatabaseError)) throw error;
    // Class 22 means that a type rejects a sample value.
    return error.failure.sqlstate.startsWith("22") ? null : error;
  }
}
