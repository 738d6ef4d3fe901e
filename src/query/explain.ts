/**
 * Renders EXPLAIN.
 *
 * @module
 */
import type { PlanOption } from "../http/media_type.ts";
import type { Explain } from "../plan/negotiate.ts";
import { join, type Sql, sql } from "../sql/fragment.ts";

const formats: Readonly<Record<Explain["format"], Sql>> = {
  text: sql`format text`,
  json: sql`format json`,
};

const options: Readonly<Record<PlanOption, Sql>> = {
  analyze: sql`analyze`,
  verbose: sql`verbose`,
  settings: sql`settings`,
  buffers: sql`buffers`,
  wal: sql`wal`,
};

/**
 * Returns `explain (…) <statement>`. Its result has one text column, with one row for each line.
 */
export function renderExplain(statement: Sql, explain: Explain): Sql {
  const list = [formats[explain.format], ...explain.options.map((option) => options[option])];
  return sql`explain (${join(list)}) ${statement}`;
}
