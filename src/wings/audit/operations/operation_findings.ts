/** Findings about permitted requests: operations without a plan, and expensive ones. @module */
import type {
  BrokenOperation,
  DescribedOperation,
  SampleOf,
} from "../../../api/described_operation.ts";
import type { Condition } from "../../../api/plan/read/read_node.ts";
import { explained } from "../../../api/transaction/cost_limit.ts";
import { type DataPlan, queryOf, relationOf } from "../../../api/transaction/data_plan.ts";
import { DatabaseError } from "../../../base/errors/service_error.ts";
import { parseJson } from "../../../base/lib/json_object.ts";
import { compile, param, sql } from "../../../base/sql/fragment.ts";
import { nameText } from "../../../base/sql/name_text.ts";
import type { Database } from "../../../database/database.ts";
import { metadataTransaction, type Statement } from "../../../database/transaction.ts";
import type { Config } from "../../../state/config/options.ts";
import type { Experiment } from "../diagnosis/policy_findings.ts";
import type { Finding } from "../diagnosis/finding.ts";

/** Most rows of a table that may be read one by one. */
const maxScannedRows = 10_000;

/** A finding, and how its gain is measured, or null. */
export type OperationFinding = readonly [Finding, Experiment | null];

/** Explains each operation under each of its roles. */
export async function operationFindings(
  operations: readonly (BrokenOperation | DescribedOperation)[],
  database: Database,
  { dbMaxCost }: Pick<Config, "dbMaxCost">,
): Promise<readonly OperationFinding[]> {
  const findings: OperationFinding[] = [];
  const add = (name: string, level: Finding["level"], subject: string, message: string) =>
    findings.push([{ name, level, subject, message, sql: null }, null]);
  for (const operation of operations) {
    const { name, line } = operation;
    if ("problem" in operation) {
      add(
        "operation-broken",
        "error",
        name,
        `operation ${name}, line ${line}: ${operation.problem}`,
      );
      continue;
    }
    for (const role of operation.roles) {
      const found = await explain(operation.plan, role, database);
      if (typeof found === "string") {
        const isRefused = found.startsWith("42501");
        const text = `operation ${name}, line ${line}, fails for ${role}: ${found}`;
        if (isRefused) add("operation-refused", "warn", name, text);
        else add("operation-broken", "error", name, text);
        continue;
      }
      const cost = Number(found["Total Cost"]);
      if (dbMaxCost !== null && dbMaxCost > 0 && cost > dbMaxCost) {
        const text = `operation ${name} of ${role} costs ${
          Math.ceil(cost)
        }, db-max-cost is ${dbMaxCost}`;
        add("operation-cost", "warn", name, text);
      }
      const scan = await scanFinding(operation, role, found, database);
      if (scan !== null) findings.push(scan);
    }
  }
  return findings;
}

const statisticsQuery = sql`select schemaname, tablename, attname, coalesce(
  (most_common_vals::pg_catalog.text::pg_catalog.text[])[1],
  (histogram_bounds::pg_catalog.text::pg_catalog.text[])[pg_catalog.array_length(histogram_bounds::pg_catalog.text::pg_catalog.text[], 1) / 2])
from pg_catalog.pg_stats where most_common_vals is not null or histogram_bounds is not null`;

/** Reads a value of each column from the statistics that the login role may see. */
export async function readSamples(database: Database): Promise<SampleOf> {
  const read = { ...compile(statisticsQuery), use: "rows" as const };
  const { rows } = await database.transaction(metadataTransaction([read], "rollback"));
  const samples = new Map(
    rows.at(-1)!.map((
      [schema, table, column, value],
    ) => [[schema, table, column].join("\0"), value!]),
  );
  return ({ schema, name }, column) => samples.get([schema, name, column].join("\0")) ?? null;
}

/** A node of EXPLAIN (FORMAT JSON). */
interface ExplainNode {
  readonly [name: string]: unknown;
  readonly Plans?: readonly ExplainNode[];
}

/** Returns the root of the plan, or the error of PostgreSQL. */
async function explain(
  plan: DataPlan,
  role: string,
  database: Database,
): Promise<ExplainNode | string> {
  const settings = sql`select pg_catalog.set_config('role', ${param(role)}, true),
    pg_catalog.set_config('request.jwt.claims', '{}', true)`;
  const statements: readonly Statement[] = [
    { ...compile(settings), use: "none" },
    explained(queryOf(plan).main),
  ];
  try {
    const { rows } = await database.transaction(metadataTransaction(statements, "rollback"));
    const text = rows.at(-1)!.map(([line]) => line).join("\n");
    return (parseJson(text) as readonly { readonly Plan: ExplainNode }[])[0]!.Plan;
  } catch (error) {
    if (error instanceof DatabaseError) return `${error.failure.sqlstate} ${error.failure.message}`;
    throw error;
  }
}

const tableQuery = (schema: string, name: string) =>
  sql`select pg_catalog.json_build_object('rows', reltuples, 'owner',
    pg_catalog.quote_ident(pg_catalog.pg_get_userbyid(relowner)))::pg_catalog.text
  from pg_catalog.pg_class where oid = pg_catalog.to_regclass(${param(nameText(schema, name))})`;

/** Returns the finding for a sequential scan of a large table with conditions on columns. */
async function scanFinding(
  { name, plan }: DescribedOperation,
  role: string,
  root: ExplainNode,
  database: Database,
): Promise<OperationFinding | null> {
  const relation = relationOf(plan);
  if (relation === null) return null;
  const scans = nodesOf(root).filter((node) =>
    node["Node Type"] === "Seq Scan" && node["Relation Name"] === relation.name &&
    node["Filter"] !== undefined
  );
  const columns = comparedColumns(plan);
  if (scans.length === 0 || columns.length === 0) return null;
  const read = { ...compile(tableQuery(relation.schema, relation.name)), use: "rows" as const };
  const { rows } = await database.transaction(metadataTransaction([read], "rollback"));
  const facts = parseJson(rows.at(-1)?.[0]?.[0] ?? "null") as
    | { rows: number; owner: string }
    | null;
  if (facts === null || facts.rows <= maxScannedRows) return null;
  const table = nameText(relation.schema, relation.name);
  const list = columns.map((column) => nameText(column)).join(", ");
  const finding = {
    name: "operation-index",
    level: "warn",
    subject: name,
    message: `operation ${name} of ${role} reads all rows of ${table}`,
    sql: `create index on ${table} (${list});`,
  } as const;
  return [finding, {
    relation: table,
    owner: facts.owner,
    rows: facts.rows,
    change: { columns: list },
  }];
}

function nodesOf(node: ExplainNode): readonly ExplainNode[] {
  return [node, ...(node.Plans ?? []).flatMap(nodesOf)];
}

/** Returns the columns that must equal a value, which an index serves. */
function comparedColumns(plan: DataPlan): readonly string[] {
  const conditions: readonly Condition[] = plan.kind === "read"
    ? plan.read.root.conditions
    : plan.kind === "mutate" && plan.mutate.kind !== "insert"
    ? plan.mutate.where
    : [];
  return conditions.flatMap((each) =>
    each.kind === "compare" && each.operator === "eq" && !each.negated &&
      each.field.kind === "column"
      ? [each.field.field.column]
      : []
  );
}
