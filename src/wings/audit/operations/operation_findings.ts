/** Findings about permitted requests: operations without a plan, and expensive ones. @module */
import type {
  BrokenOperation,
  DescribedOperation,
  SampleOf,
} from "../../../api/described_operation.ts";
import type { Condition } from "../../../api/plan/read/read_node.ts";
import { type DataPlan, relationOf } from "../../../api/transaction/data_plan.ts";
import { compile, param, sql } from "../../../base/sql/fragment.ts";
import { nameText } from "../../../base/sql/name_text.ts";
import type { Database } from "../../../database/database.ts";
import { metadataTransaction } from "../../../database/transaction.ts";
import type { Config } from "../../../state/config/options.ts";
import type { QualifiedName } from "../../../state/schema_cache/schema_cache.ts";
import type { Experiment } from "../diagnosis/policy_findings.ts";
import type { Finding } from "../diagnosis/finding.ts";
import { type ExplainNode, explainOperation } from "./operation_plans.ts";

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
  for (const operation of operations) {
    const { name, line, roles } = operation;
    if ("problem" in operation) {
      const message = `operation ${name}, line ${line}: ${operation.problem}`;
      findings.push(textFinding({ name: "operation-broken", level: "error", message }, name));
      continue;
    }
    for (const role of roles) {
      findings.push(...await findingsOfRole(operation, role, { database, dbMaxCost }));
    }
  }
  return findings;
}

function textFinding(
  parts: Pick<Finding, "level" | "message" | "name">,
  subject: string,
): OperationFinding {
  return [{ ...parts, subject, sql: null }, null];
}

async function findingsOfRole(
  operation: DescribedOperation,
  role: string,
  { database, dbMaxCost }: Pick<Config, "dbMaxCost"> & { readonly database: Database },
): Promise<readonly OperationFinding[]> {
  const { name, line } = operation;
  const found = await explainOperation(operation, role, database);
  if (found === null) return [];
  if (found.kind === "error") {
    const { sqlstate } = found;
    const message =
      `operation ${name}, line ${line}, fails for ${role}: ${sqlstate} ${found.message}`;
    return sqlstate === "42501"
      ? [textFinding({ name: "operation-refused", level: "warn", message }, name)]
      : [textFinding({ name: "operation-broken", level: "error", message }, name)];
  }
  const cost = Math.ceil(Number(found.root["Total Cost"]));
  const isExpensive = dbMaxCost !== null && dbMaxCost > 0 && cost > dbMaxCost;
  const message = `operation ${name} of ${role} costs ${cost}, db-max-cost is ${dbMaxCost}`;
  return [
    ...isExpensive ? [textFinding({ name: "operation-cost", level: "warn", message }, name)] : [],
    ...await scanFinding(operation, role, { root: found.root, database }),
  ];
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

/** By names: `to_regclass` fails where the login role may not use the schema. */
const largeTableQuery = ({ schema, name }: QualifiedName) =>
  sql`select c.reltuples::pg_catalog.text, pg_catalog.quote_ident(pg_catalog.pg_get_userbyid(c.relowner))
  from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  where n.nspname = ${param(schema)} and c.relname = ${param(name)}
    and c.reltuples > ${param(String(maxScannedRows))}::pg_catalog.float4`;

/** Returns the finding for a sequential scan of a large table with conditions on columns. */
async function scanFinding(
  { name, plan }: DescribedOperation,
  role: string,
  { root, database }: { readonly root: ExplainNode; readonly database: Database },
): Promise<readonly OperationFinding[]> {
  const relation = relationOf(plan);
  const columns = comparedColumns(plan).map((column) => nameText(column)).join(", ");
  const isScanned = nodesOf(root).some((node) =>
    node["Node Type"] === "Seq Scan" && node["Relation Name"] === relation?.name &&
    node["Filter"] !== undefined
  );
  if (relation === null || !isScanned || columns === "") return [];
  const table = nameText(relation.schema, relation.name);
  const read = { ...compile(largeTableQuery(relation)), use: "rows" as const };
  const { rows } = await database.transaction(metadataTransaction([read], "rollback"));
  return rows.at(-1)!.map(([count, owner]): OperationFinding => [
    {
      name: "operation-index",
      level: "warn",
      subject: name,
      message: `operation ${name} of ${role} reads all rows of ${table}`,
      sql: `create index on ${table} (${columns});`,
    },
    { relation: table, owner: owner!, rows: Number(count), change: { columns } },
  ]);
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
