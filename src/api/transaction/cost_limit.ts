/** Limits on the planner's cost of statements. @module */
import type { Statement, TransactionResult } from "../../database/transaction.ts";
import { errors } from "../../base/errors/catalogue.ts";
import { ownPrefix } from "../../base/sql/fragment.ts";

/** A limit on the planner's cost of a statement. */
export interface CostLimit {
  /** Position of the EXPLAIN (FORMAT JSON) among the statements of the script. */
  readonly statement: number;
  readonly maxCost: number;
}

/** Returns the EXPLAIN of a statement, with its parameters. */
export function explained({ text, params }: Statement): Statement {
  return { text: `explain (format json) ${text}`, params, use: "rows", role: "cost" };
}

/** Throws `137` if the cost exceeds its limit. */
export function checkCost(
  { statement, maxCost }: CostLimit,
  rows: TransactionResult["rows"],
): void {
  const text = rows[statement]?.map(([line]) => line).join("\n") ?? "";
  const cost = costOf(JSON.parse(text)[0]?.Plan);
  if (typeof cost !== "number" || cost > maxCost) {
    throw errors.queryTooExpensive(Number(cost), maxCost);
  }
}

/** A node of EXPLAIN (FORMAT JSON). */
interface ExplainedNode {
  readonly "Total Cost"?: unknown;
  readonly "Subplan Name"?: string;
  readonly Plans?: readonly ExplainedNode[];
}

/** Returns the cost of a query. If rows are sent one by one, the CTEs alone compute them. */
function costOf(plan: ExplainedNode | undefined): unknown {
  const tables = plan?.Plans?.filter((node) => node["Subplan Name"]?.startsWith("CTE ")) ?? [];
  if (!tables.some((node) => node["Subplan Name"] === `CTE ${ownPrefix}rows`)) {
    return plan?.["Total Cost"];
  }
  return tables.reduce((sum, node) => sum + Number(node["Total Cost"]), 0);
}
