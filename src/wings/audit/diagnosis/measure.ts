/** Measures the gain of findings' SQL. All changes are rolled back. @module */
import { metadataTransaction, type Statement } from "../../../database/transaction.ts";
import type { Database } from "../../../database/database.ts";
import { DatabaseError } from "../../../base/errors/service_error.ts";
import { catalogueSql, compile, type Sql, sql } from "../../../base/sql/fragment.ts";
import type { Finding } from "./finding.ts";
import { type Experiment, policyFindings } from "./policy_findings.ts";
import type { Catalogue, CatalogueRow } from "./query.ts";

/** Maximum number of rows in a table that is measured. */
const maxRows = 1_000_000;

/** Appends `: 92 ms → 6 ms on 100,000 rows` or `: not measured` to messages of findings. */
export async function measureFindings(
  database: Database,
  findings: readonly Finding[],
  catalogue: Catalogue,
): Promise<readonly Finding[]> {
  const experiments = new Map([
    ...policyFindings(catalogue).map(([finding, experiment]) =>
      [keyOf(finding), experiment] as const
    ),
    ...catalogue.rows.filter(([name]) => name === "foreign-key-index").map(keyExperiment),
  ]);
  const measured: Finding[] = [];
  // Measures one finding after the other, because concurrent measurements would slow each other down.
  for (const finding of findings) {
    const experiment = experiments.get(keyOf(finding));
    const result = experiment ? `: ${await measure(database, experiment)}` : "";
    measured.push({ ...finding, message: finding.message + result });
  }
  return measured;
}

function keyOf({ name, subject }: Pick<Finding, "name" | "subject">): string {
  return `${name} ${subject}`;
}

function keyExperiment([name, , subject, , objects]: CatalogueRow) {
  const [relation, columns, owner, rows] = objects.map(String) as [string, string, string, string];
  const experiment = { relation, owner, rows: Number(rows), change: { columns } };
  return [keyOf({ name, subject }), experiment] as const;
}

async function measure(database: Database, experiment: Experiment): Promise<string> {
  const { rows, change } = experiment;
  if (rows > maxRows) return `not measured, more than ${maxRows.toLocaleString("en")} rows`;
  const transaction = metadataTransaction(statementsOf(experiment), "rollback");
  try {
    const { rows: results } = await database.transaction(
      "columns" in change ? { ...transaction, access: "read write" } : transaction,
    );
    const times = results.flat().map(([plan]): number => JSON.parse(plan!)[0]["Execution Time"]);
    const [before, after] = [times.slice(0, runs), times.slice(runs)].map((each) =>
      timeText(Math.min(...each))
    );
    return `${before} → ${after} on ${rows.toLocaleString("en")} rows`;
  } catch (error) {
    if (error instanceof DatabaseError) return `not measured, ${error.failure.sqlstate}`;
    throw error;
  }
}

/** Number of runs per query. The first run also reads the table from the disk. */
const runs = 2;

/** Returns the execution time in milliseconds, as printed by PostgreSQL. */
function timeText(time: number): string {
  return `${time >= 10 ? Math.round(time) : Number(time.toPrecision(time >= 1 ? 2 : 1))} ms`;
}

/**
 * Returns statements that run as the owner of the table. If policies apply to the owner, the
 * statements fail with 42501, because the times would include the policies. Timeouts are short,
 * because creating an index blocks writers.
 */
function statementsOf({ relation, owner, change }: Experiment): readonly Statement[] {
  const table = catalogueSql(relation);
  const explained = (condition: Sql) =>
    Array.from({ length: runs }, () => ({
      ...compile(
        sql`explain (analyze, timing off, format json) select from ${table} where ${condition}`,
      ),
      use: "rows" as const,
    }));
  const silent = (statement: Sql) => ({ ...compile(statement), use: "none" as const });
  const settings = [
    sql`select pg_catalog.set_config(name, value, true) from (values ('row_security', 'off'),
      ('lock_timeout', '1s'), ('statement_timeout', '10s'), ('request.jwt.claims', '{}'))
      settings (name, value)`,
    sql`set local role ${catalogueSql(owner)}`,
  ].map(silent);
  if (!("columns" in change)) {
    const [before, after] = [change.before, change.after].map(catalogueSql);
    return [...settings, ...explained(before!), ...explained(after!)];
  }
  const columns = sql`(${catalogueSql(change.columns)})`;
  const value = sql`${columns} = (select ${catalogueSql(change.columns)} from ${table}
    where ${columns} is not null limit 1)`;
  const index = silent(sql`create index on ${table} ${columns}`);
  return [...settings, ...explained(value), index, ...explained(value)];
}
