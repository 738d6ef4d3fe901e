/** The order of rows that a read requests. @module */
import { isJsonObject } from "../lib/json_object.ts";
import { splitQuery } from "../request/url/query_string.ts";

/**
 * Returns the order of an array at a place of a body: the names of the members that order its rows,
 * `any` for rows without an order, `as is` where all elements have their position.
 */
export type RowOrder = (
  place: string,
  rows: readonly unknown[],
) => readonly string[] | "any" | "as is";

/** Returns the orders that the query string of a target requests. */
export function rowOrder(target: string): RowOrder {
  const orders = new Map<string, readonly string[]>();
  let select = "";
  for (const { name, value } of splitQuery(target.slice(target.indexOf("?") + 1))) {
    if (name === "select") select = value ?? "";
    const [, path] = /^(?:(.*)\.)?order$/.exec(name) ?? [null];
    if (path === null) continue;
    orders.set(path ?? "", (value ?? "").split(",").map((term) => term.split(".")[0]!));
  }
  // Other arrays in rows are values of columns.
  const isEmbed = (rows: readonly unknown[]) =>
    select.includes("(") && (select.includes("...") || rows.every(isJsonObject));
  return (place, rows) => {
    const path = place.replaceAll("[]", "").slice(1);
    const keys = orders.get(path);
    if (keys === undefined) return path === "" || isEmbed(rows) ? "any" : "as is";
    // Ties are unknown if a key is not a member of the rows.
    const hasKeys = rows.every((row) =>
      isJsonObject(row) && keys.every((key) => Object.hasOwn(row, key))
    );
    return hasKeys ? keys : "as is";
  };
}
