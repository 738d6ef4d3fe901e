/** Writes filters of columns as parameters of the query string. @module */
import { encodeText } from "../../../base/http/percent.ts";

/** Returns a column's name as queries write it: in quotes if it is reserved, or no plain name. */
export function queryName(column: string): string {
  const isPlain = bareName.test(column) && !reserved.has(column);
  return isPlain ? column : `"${column.replaceAll(/["\\]/g, "\\$&")}"`;
}

/** Names that have another meaning where a query may have a column. */
const reserved: ReadonlySet<string> = new Set([
  ...["select", "columns", "on_conflict", "on", "lock", "order", "and", "or", "not"],
  ...["limit", "offset", "having", "distinct", "group", "after", "before", "any", "all", "none"],
]);
const word = "[\\p{L}0-9_$]+";
const words = `${word}(?: +${word})*`;
const bareName = new RegExp(`^${words}(?:-${words})*$`, "u");

/** Returns the encoded filter that finds the rows with a value, which is null or PostgreSQL's text. */
export function equalParam(column: string, value: string | null): string {
  return `${encodeText(queryName(column))}=${
    value === null ? "is.null" : `eq.${encodeText(value)}`
  }`;
}
