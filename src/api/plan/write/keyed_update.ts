/** Plans an update whose body has one object per row: `PATCH /orders?on=id`. @module */
import { errors } from "../../../base/errors/catalogue.ts";
import type { ApiRequest } from "../../request/api_request.ts";
import type { WrittenColumn, WrittenRows } from "./written_column.ts";

/** How rows of the body match rows of the relation. */
export interface RowKey {
  /** Columns whose values are equal in both rows. */
  readonly columns: readonly WrittenColumn[];
  /** Whether rows of the body lack written columns, which stay as they are then. */
  readonly keysVary: boolean;
  /** Whether a row of the body that matches no row is an error. */
  readonly mustMatch: boolean;
}

/** Throws `145` if the request has a limit, or if the body lacks a column of the key. */
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

/** Returns the error of a row, counted from 1, that has no value in a column of the key. */
export function missingKey(on: readonly string[], column: string, row: number): Error {
  return errors.unmatchableRows(on, `Row ${row} has no '${column}'`);
}
