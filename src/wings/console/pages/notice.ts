/** Shows which rows were written, with a link to them. @module */
import type { ConsoleRelation } from "../server/console_schema.ts";
import { cellText } from "./cells.ts";
import { type GridRow, hasKey, keyQuery } from "./edit.ts";
import { emptyTableQuery, formatQuery } from "./filters.ts";
import { hrefOf } from "./route.ts";
import { html, type View } from "./view.ts";

interface NoticeProps {
  readonly relation: ConsoleRelation;
  /** `Inserted`, `Saved` or `Deleted`. */
  readonly verb: string;
  /** The written rows, at least one. */
  readonly rows: readonly GridRow[];
}

/** The key of a row, or the number of rows. A link shows the rows, which may not be on the page. */
export function Notice({ relation, verb, rows }: NoticeProps): View {
  const { schema, name, primaryKey } = relation;
  const row = rows[0]!;
  const columns = hasKey(relation, row) ? primaryKey : [];
  const key = columns.map((column) => cellText(row[column])).join(", ");
  const query = rows.length === 1 ? keyQuery(relation, row) : keysQuery(columns, rows);
  const href = hrefOf({ page: "table", schema, name, query });
  const isLinked = verb !== "Deleted" && key !== "" && query !== "";
  const link = isLinked && [" · ", html`<a href=${href}>Show</a>`];
  const what = rows.length > 1 ? `${rows.length} rows` : key === "" ? "a row" : `row ${key}`;
  return html`<p class="bar" role="status">${verb} ${what}${link}</p>`;
}

/** Maximum rows that a link shows, because its URL contains their keys. */
const maxLinked = 100;

/** Returns the query of several rows; empty if their key has several columns, or for many rows. */
function keysQuery([column, ...more]: readonly string[], rows: readonly GridRow[]): string {
  if (column === undefined || more.length > 0 || rows.length > maxLinked) return "";
  const value = rows.map((row) => String(row[column])).join("\n");
  const filters = [{ column, path: "", operator: "in", value }] as const;
  return formatQuery({ ...emptyTableQuery, filters });
}
