/**
 * Measures the queries of a load by the server's clock, which extra statements read between them.
 *
 * @module
 */
import type { Statement } from "../database/batch.ts";
import type { QueryTiming } from "../observe/observation.ts";
import type { QueryName, SchemaCacheQuery } from "./load.ts";

const clock: Statement = {
  text: "select extract(epoch from clock_timestamp()) * 1000",
  params: [],
  use: "rows",
};

/** Names of the queries in the log, in its order. */
const names: readonly (readonly [name: string, query: QueryName])[] = [
  ["tables", "relations"],
  ["keydeps", "view rules"],
  ["rels", "keys"],
  ["funcs", "routines"],
  ["comprels", "computed relationships"],
  ["dreps", "representations"],
  ["mhandlers", "media handlers"],
];

/**
 * Returns the statements of a load. A timed load reads the clock before the first query and after
 * each one.
 */
export function loadStatements(
  queries: readonly SchemaCacheQuery[],
  { timed }: { readonly timed: boolean },
): readonly Statement[] {
  const statements = queries.map(({ text, params }): Statement => ({ text, params, use: "rows" }));
  return timed ? [clock, ...statements.flatMap((statement) => [statement, clock])] : statements;
}

/**
 * Splits the values of a load into the results of its queries and their timings in milliseconds.
 * `timings` is null for a load without timing.
 */
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
