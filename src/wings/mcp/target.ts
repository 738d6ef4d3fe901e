/** Converts arguments of tools to paths and query strings of the API. Names and values are
 * percent-encoded, so that they cannot add a parameter or name another resource. @module */
import type { Relation } from "../../state/schema_cache/schema_cache.ts";
import { queryName } from "../../api/request/url/filter_param.ts";
import { InvalidParams } from "./session.ts";

/** Filters: one or several conditions per column. */
export type Where = Readonly<Record<string, string | readonly string[]>>;

export type QueryParamPair = readonly [name: string, value: string];

export function relationPath(relation: string): string {
  return `/${encode(relation)}`;
}

export function functionPath(name: string): string {
  return `/rpc/${encode(name)}`;
}

export function queryOf(params: readonly QueryParamPair[]): string {
  return params.map(([name, value]) => `${encode(name)}=${encode(value)}`).join("&");
}

function encode(text: string): string {
  if (!text.isWellFormed()) throw new InvalidParams("a text has half a surrogate pair");
  return encodeURIComponent(text);
}

/** Returns the parameters for filters. Throws `InvalidParams` for a name that is reserved in query strings. */
export function filterParams(
  where: Where,
  isParameterName: (name: string) => boolean,
): readonly QueryParamPair[] {
  return Object.entries(where).flatMap(([name, value]): readonly QueryParamPair[] => {
    if (isParameterName(name)) {
      throw new InvalidParams(
        `where: ${JSON.stringify(name)} is not a filter; put a column's name ` +
          "in double quotes",
      );
    }
    return typeof value === "string" ? [[name, value]] : value.map((each) => [name, each]);
  });
}

/** Throws `InvalidParams` unless each filter is on a column of the relation, so that it restricts
 * the written rows. */
export function checkColumnFilters(where: Where, { columns, name }: Relation): void {
  const names = columns.map((column) => queryName(column.name));
  if (Object.keys(where).length === 0) throw new InvalidParams("where: a filter is needed");
  for (const key of Object.keys(where)) {
    const isColumn = names.some((column) => key === column || key.startsWith(`${column}->`));
    if (isColumn || key.startsWith('"') && isQuotedColumn(key, columns)) continue;
    throw new InvalidParams(`where: ${JSON.stringify(key)} is not a column of ${name}`);
  }
}

function isQuotedColumn(key: string, columns: Relation["columns"]): boolean {
  const quoted = /^"(?:[^"\\]|\\.)*"/s.exec(key)?.[0];
  if (quoted === undefined) return false;
  const column = quoted.slice(1, -1).replace(/\\(.)/gs, "$1");
  const rest = key.slice(quoted.length);
  return columns.some(({ name }) => name === column) && (rest === "" || rest.startsWith("->"));
}
