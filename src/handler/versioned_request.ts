/**
 * Executes requests whose statements read row versions: PostgreSQL refuses `xmin` to a role that may read
 * only some columns of a table.
 *
 * @module
 */
import type { Identity } from "../auth/jwt_cache.ts";
import type { Reply } from "../response/reply.ts";
import { relationOf, rowVersionIn } from "../transaction/data_plan.ts";
import type { PlannedQuery } from "../transaction/transaction.ts";
import { isInsufficientPrivilege, RoleColumns } from "./column_privileges.ts";
import { execute, type PayloadRequest } from "./execute.ts";
import type { Exchange } from "./pipeline.ts";

/**
 * Executes a request, without row versions if the role may not read them. If PostgreSQL refuses a read before
 * Execute because that has changed, executes it once more. A refused write is not repeated.
 */
export async function executeVersioned(
  exchange: Exchange,
  identity: Identity,
  request: PayloadRequest,
): Promise<Reply> {
  const { planned } = request;
  const relation = relationOf(planned.plan);
  if (planned.query.unversioned === undefined || relation === null) {
    return await execute(exchange, identity, request);
  }
  const { context: { columnPrivileges }, caller } = exchange;
  const columnsOf = () => new RoleColumns(columnPrivileges, identity.role, caller);
  const known = columnPrivileges.recall(identity.role, relation);
  const readable = known === undefined
    ? await readableQuery(planned, columnsOf())
    : chooseQuery(planned, known);
  try {
    return await execute(exchange, identity, { ...request, planned: readable });
  } catch (error) {
    if (!isInsufficientPrivilege(error)) throw error;
    const columns = columnsOf();
    columns.of(relation);
    if (!await columns.readAgain()) throw error;
    const mayRepeat = error.precedesExecution && planned.plan.kind === "read";
    const again = await readableQuery(planned, columns);
    if (!mayRepeat || again.query.main === readable.query.main) throw error;
    return await execute(exchange, identity, { ...request, planned: again });
  }
}

/** Returns a query with its statement that reads no row versions, if the role may not read them. */
export async function readableQuery(
  planned: PlannedQuery,
  columns: RoleColumns,
): Promise<PlannedQuery> {
  const relation = relationOf(planned.plan);
  if (planned.query.unversioned === undefined || relation === null) return planned;
  if (columns.of(relation) === null) await columns.readUnknown();
  return chooseQuery(planned, columns.of(relation));
}

/** Chooses by the columns that the role may select; null for unknown ones. */
function chooseQuery(
  planned: PlannedQuery,
  selectable: ReadonlySet<string> | null,
): PlannedQuery {
  const { plan, query } = planned;
  const version = rowVersionIn(plan);
  if (version === null || query.unversioned === undefined) return planned;
  const names = version.kind === "columns" ? version.columns : systemColumns;
  if (selectable !== null && names.every((name) => selectable.has(name))) return planned;
  return { ...planned, kind: null, query: { ...query, main: query.unversioned } };
}

const systemColumns = ["tableoid", "xmin", "ctid"] as const;
