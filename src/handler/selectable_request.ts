/**
 * Executes requests with `**`, whose plans depend on the columns that their role may select.
 *
 * @module
 */
import type { Identity } from "../auth/jwt_cache.ts";
import { plan } from "../plan/plan.ts";
import type { Reply } from "../response/reply.ts";
import { type DataPlan, queryOf } from "../transaction/data_plan.ts";
import { isInsufficientPrivilege, type RoleColumns } from "./column_privileges.ts";
import type { PayloadRequest } from "./execute.ts";
import type { Exchange } from "./pipeline.ts";
import { executeVersioned } from "./versioned_request.ts";

/**
 * Executes a request. If PostgreSQL refuses a read before Execute and the columns of the role have
 * changed, plans and executes it once more. A refused write is not repeated.
 */
export async function executeSelectable(
  exchange: Exchange,
  identity: Identity,
  { columns, ...first }: PayloadRequest & { readonly columns: RoleColumns },
): Promise<Reply> {
  try {
    return await executeVersioned(exchange, identity, first);
  } catch (error) {
    if (!isInsufficientPrivilege(error)) throw error;
    const hasChanged = await columns.readAgain();
    const mayRepeat = error.precedesExecution && first.planned.plan.kind !== "mutate";
    if (!hasChanged || !mayRepeat) throw error;
    const { cache, config } = exchange.context.snapshot;
    const changed = plan(first.request, cache!, config) as DataPlan;
    exchange.targetNameUses.length = 0;
    const planned = { ...first.planned, plan: changed, query: queryOf(changed) };
    return await executeVersioned(exchange, identity, { ...first, planned });
  }
}
