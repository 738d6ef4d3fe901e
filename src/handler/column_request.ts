/** Executes requests whose statements depend on the columns that their role may select: `**`, and row versions,
 * since PostgreSQL refuses `xmin` to a role that may read only some columns of a table. @module */
import type { Reply } from "../response/reply.ts";
import { relationOf, rowVersionIn } from "../transaction/data_plan.ts";
import type { PlannedQuery } from "../transaction/script.ts";
import { RoleColumns } from "./column_privileges.ts";
import type { Exchange } from "./exchange.ts";
import type { PayloadRequest } from "./plan_request.ts";
import { runPlain } from "./run.ts";

/** Executes a request, without row versions if the role may not read them. */
export async function executeByColumns(
  exchange: Exchange,
  request: PayloadRequest & { readonly columns: RoleColumns | null },
): Promise<Reply> {
  const { context: { columnPrivileges }, identity } = exchange;
  const columns = request.columns ??
    new RoleColumns(columnPrivileges, identity!.role, exchange);
  const planned = await readableQuery(request.planned, columns);
  return await columns.guard(runPlain(exchange, { ...request, planned }));
}

/** Returns a query with its statement that reads no row versions, if the role may not read them. */
export async function readableQuery(
  planned: PlannedQuery,
  columns: RoleColumns,
): Promise<PlannedQuery> {
  const { plan, query } = planned;
  const relation = relationOf(plan);
  const version = rowVersionIn(plan);
  if (query.unversioned === undefined || relation === null || version === null) return planned;
  if (columns.of(relation) === null) await columns.readUnknown();
  const selectable = columns.of(relation);
  const names = version.kind === "columns" ? version.columns : systemColumns;
  if (selectable !== null && names.every((name) => selectable.has(name))) return planned;
  return { ...planned, kind: null, query: { ...query, main: query.unversioned } };
}

const systemColumns = ["tableoid", "xmin", "ctid"] as const;
