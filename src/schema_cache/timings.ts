/**
 * How long the queries of a load take: the server's clock is asked between them.
 *
 * @module
 */
import type { Statement } from "../database/database.ts";
import type { QueryTiming } from "../observe/observation.ts";
import type { QueryName, SchemaCacheQuery } from "./load.ts";

const clock: Statement = {
  text: "select extract(epoch from clock_timestamp()) * 1000",
  params: [],
  use: "rows",
};

/** What the log calls the queries, in the order in which it names them. */
const names: readonly (readonly [name: string, query: QueryName])[] = [
  ["tables", "relations"],
  ["keydeps", "view rules"],
  ["rels", "keys"],
  ["funcs", "routines"],
  ["comprels", "computed relationships"],
  ["dreps", "representations"],
  ["mhandlers", "media handlers"],
];

/** The statements of a load; timed ones have the clock before the first and after each query. */
export function loadStatements(
  queries: readonly SchemaCacheQuery[],
  { timed }: { readonly timed: boolean },
): readonly Statement[] {
  const statements = queries.map(({ text, params }): Statement => ({ text, params, use: "rows" }));
  return timed ? [clock, ...statements.flatMap((statement) => [statement, clock])] : statements;
}

/** Tells the answers of the queries from those of the clock; no timings where it was not asked. */
export function splitLoadResults(
  values: readonly string[],
  queries: readonly SchemaCacheQuery[],
): { readonly answers: readonly string[]; readonly timings: readonly QueryTiming[] | null } {
  if (values.length === queries.length) return { answers: values, timings: null };
  const times = values.filter((_, at) => at % 2 === 0).map(Number);
  const timings = names.map(([name, queryName]) => {
    const at = queries.findIndex((query) => query.name === queryName);
    return { name, ms: Math.max(0, times[at + 1]! - times[at]!) };
  });
  return { answers: values.filter((_, at) => at % 2 === 1), timings };
}
