/**
 * Executes requests whose statements read row versions: PostgreSQL refuses `xmin` to a role that may read
 * only some columns of a table.
 *
 * @module
 */
import type { Identity } from "../auth/jwt_cache.ts";
import type { RowVersion } from "../plan/row_version.ts";
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
  if (planned.query.unversioned === undefined) return await execute(exchange, identity, request);
  const columns = new RoleColumns(
    exchange.context.columnPrivileges,
    identity.role,
    exchange.caller,
  );
  const readable = await readableQuery(planned, columns);
  try {
    return await execute(exchange, identity, { ...request, planned: readable });
  } catch (error) {
    if (!isInsufficientPrivilege(error) || !await columns.readAgain()) throw error;
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
  const { plan, query } = planned;
  const version = query.unversioned === undefined ? null : rowVersionIn(plan);
  const relation = relationOf(plan);
  if (version === null || relation === null) return planned;
  if (columns.of(relation) === null) await columns.readUnknown();
  if (isReadable(version, columns.of(relation))) return planned;
  return { ...planned, kind: null, query: { ...query, main: query.unversioned! } };
}

/** Returns whether a role may read a version, by the columns that it may select; null for unknown ones. */
function isReadable(version: RowVersion, selectable: ReadonlySet<string> | null): boolean {
  const names = version.kind === "columns" ? version.columns : systemColumns;
  return selectable !== null && names.every((name) => selectable.has(name));
}

const systemColumns = ["tableoid", "xmin", "ctid"] as const;
