/** Plans an update whose body has one object per row: `PATCH /orders?on=id`. @module */
import { errors } from "../../../base/errors/catalogue.ts";
import type { ApiRequest } from "../../request/api_request.ts";
import type { WrittenColumn, WrittenRows } from "./written_column.ts";

/** How rows of the body are matched to rows of the relation. */
export interface RowKey {
  /** Columns that are compared. */
  readonly columns: readonly WrittenColumn[];
  /** Whether rows of the body may lack written columns, which are then unchanged. */
  readonly keysVary: boolean;
  /** Whether an unmatched row of the body is an error. */
  readonly mustMatch: boolean;
}

/** Returns the rows of a body with the columns that match them. Throws `145` if the request has a
 * limit, or if the body lacks a key column. */
export function keyedRows(
  { query, preferences, payload }: ApiRequest,
  on: readonly string[],
  rows: WrittenRows,
  columnOf: (name: string) => WrittenColumn,
): { readonly rows: WrittenRows; readonly key: RowKey } {
  const columns = on.map(columnOf);
  if (query.limit !== null || query.offset !== null) {
    throw errors.unmatchableRows(on, "'on' cannot be combined with 'limit' or 'offset'");
  }
  const names = payload?.kind === "json" ? payload.keys : null;
  const missing = names === null ? undefined : on.find((name) => !names.includes(name));
  if (missing !== undefined && names!.length > 0) throw missingKey(on, missing, 1);
  return {
    rows: { ...rows, columns: rows.columns.filter(({ name }) => !on.includes(name)) },
    key: {
      columns,
      keysVary: payload?.kind === "json" && payload.keysVary === true,
      mustMatch: preferences.unmatched === "fail",
    },
  };
}

/** Returns the error for a row (counted from 1) without a value in a key column. */
export function missingKey(on: readonly string[], column: string, row: number): Error {
  return errors.unmatchableRows(on, `Row ${row} has no '${column}'`);
}
