/** Writes filters of columns as parameters of the query string. @module */
import { encodeText } from "../../../base/http/percent.ts";

/** Returns a column's name for a query string. It is quoted if it is reserved or not a plain name. */
export function queryName(column: string): string {
  const isPlain = bareName.test(column) && !reserved.has(column);
  return isPlain ? column : `"${column.replaceAll(/["\\]/g, "\\$&")}"`;
}

/** Names with another meaning in places where a query may have a column. */
const reserved: ReadonlySet<string> = new Set([
  ...["select", "columns", "on_conflict", "on", "lock", "order", "and", "or", "not"],
  ...["limit", "offset", "having", "distinct", "group", "after", "before", "any", "all", "none"],
]);
const word = "[\\p{L}0-9_$]+";
const words = `${word}(?: +${word})*`;
const bareName = new RegExp(`^${words}(?:-${words})*$`, "u");

/** Returns an encoded filter that finds rows with a value, which is null or text of PostgreSQL. */
export function equalParam(column: string, value: string | null): string {
  return `${encodeText(queryName(column))}=${
    value === null ? "is.null" : `eq.${encodeText(value)}`
  }`;
}
