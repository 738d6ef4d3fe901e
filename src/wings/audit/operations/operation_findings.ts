/** Findings about permitted requests: operations without a plan, and expensive ones. @module */
import type { BrokenOperation, DescribedOperation } from "../../../api/described_operation.ts";
import type { Condition } from "../../../api/plan/read/read_node.ts";
import { type DataPlan, relationOf } from "../../../api/transaction/data_plan.ts";
import { DatabaseError } from "../../../base/errors/service_error.ts";
import { compile, param, sql } from "../../../base/sql/fragment.ts";
import { nameText } from "../../../base/sql/name_text.ts";
import type { Database } from "../../../database/database.ts";
import { metadataTransaction } from "../../../database/transaction.ts";
import type { Config } from "../../../state/config/options.ts";
import type { QualifiedName } from "../../../state/schema_cache/schema_cache.ts";
import type { Finding } from "../diagnosis/finding.ts";
import { type ExplainNode, explainOperation } from "./operation_plans.ts";

/** Most rows of a table that may be read one by one. */
const maxScannedRows = 10_000;

/** Explains each operation under each of its roles. */
export async function operationFindings(
  operations: readonly (BrokenOperation | DescribedOperation)[],
  database: Database,
  { dbMaxCost }: Pick<Config, "dbMaxCost">,
): Promise<readonly Finding[]> {
  const findings: Finding[] = [];
  for (const operation of operations) {
    const { name: subject, line, roles } = operation;
    const add = (parts: Pick<Finding, "level" | "message" | "name">, sql: string | null = null) =>
      findings.push({ ...parts, subject, sql });
    if ("problem" in operation) {
      const message = `operation ${subject}, line ${line}: ${operation.problem}`;
      add({ name: "operation-broken", level: "error", message });
      continue;
    }
    for (const role of roles) {
      const found = await explainOperation(operation, role, database);
      if (found === null) continue;
      if (found instanceof DatabaseError) {
        const { sqlstate, message } = found.failure;
        const place = `operation ${subject}, line ${line}, fails for ${role}`;
        add({
          name: "operation-broken",
          level: "error",
          message: `${place}: ${sqlstate} ${message}`,
        });
        continue;
      }
      const cost = Math.ceil(Number(found["Total Cost"]));
      if (dbMaxCost !== null && dbMaxCost > 0 && cost > dbMaxCost) {
        const message =
          `operation ${subject} of ${role} costs ${cost}, db-max-cost is ${dbMaxCost}`;
        add({ name: "operation-cost", level: "warn", message });
      }
      const scanned = await scannedTable(operation.plan, found, database);
      if (scanned === null) continue;
      const message = `operation ${subject} of ${role} reads all rows of ${scanned.table}`;
      const index = `create index on ${scanned.table} (${scanned.columns});`;
      add({ name: "operation-index", level: "warn", message }, index);
    }
  }
  return findings;
}

/** By names: `to_regclass` fails where the login role may not use the schema. */
const largeTableQuery = ({ schema, name }: QualifiedName) =>
  sql`select c.relname
  from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  where n.nspname = ${param(schema)} and c.relname = ${param(name)}
    and c.reltuples > ${param(String(maxScannedRows))}::pg_catalog.float4`;

/** Returns the large table whose rows are read one by one, and the columns that an index needs, or null. */
async function scannedTable(plan: DataPlan, root: ExplainNode, database: Database) {
  const relation = relationOf(plan);
  const columns = comparedColumns(plan).map((column) => nameText(column)).join(", ");
  const isScanned = nodesOf(root).some((node) =>
    node["Node Type"] === "Seq Scan" && node["Relation Name"] === relation?.name &&
    node["Filter"] !== undefined
  );
  if (relation === null || !isScanned || columns === "") return null;
  const read = { ...compile(largeTableQuery(relation)), use: "rows" as const };
  const { rows } = await database.transaction(metadataTransaction([read], "rollback"));
  return rows.at(-1)!.length === 0
    ? null
    : { table: nameText(relation.schema, relation.name), columns };
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
