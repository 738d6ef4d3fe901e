/** Findings about permitted requests: operations that cannot be planned, and expensive ones. @module */
import type {
  BrokenOperation,
  DescribedOperation,
} from "../../../api/response/openapi/described_operation.ts";
import { DatabaseError } from "../../../base/errors/service_error.ts";
import type { Database } from "../../../database/database.ts";
import type { Config } from "../../../state/config/options.ts";
import type { Finding } from "../diagnosis/finding.ts";
import { type ExplainNode, explainOperation } from "./operation_plans.ts";

/** Cost to read 10,000 rows with a condition, with the defaults of `cpu_tuple_cost` and `cpu_operator_cost`. */
const maxScanCost = 125;

/** Explains each operation as each of its roles, and returns the findings. */
export async function operationFindings(
  operations: readonly (BrokenOperation | DescribedOperation)[],
  database: Database,
  { dbMaxCost }: Pick<Config, "dbMaxCost">,
): Promise<readonly Finding[]> {
  const findings: Finding[] = [];
  for (const operation of operations) {
    const { name: subject, line, roles } = operation;
    const add = (parts: Pick<Finding, "level" | "message" | "name">) =>
      findings.push({ ...parts, subject, sql: null });
    if ("problem" in operation) {
      const message = `operation ${subject}, line ${line}: ${operation.problem}`;
      add({ name: "operation-broken", level: "error", message });
      continue;
    }
    for (const role of roles) {
      const result = await explainOperation(operation, role, database);
      if (result === null) continue;
      if (result instanceof DatabaseError) {
        const problem = `fails for ${role}: ${result.failure.sqlstate} ${result.failure.message}`;
        const message = `operation ${subject}, line ${line}, ${problem}`;
        add({ name: "operation-broken", level: "error", message });
        continue;
      }
      const cost = Math.ceil(Number(result["Total Cost"]));
      if (dbMaxCost !== null && dbMaxCost > 0 && cost > dbMaxCost) {
        const message =
          `operation ${subject} of ${role} costs ${cost}, db-max-cost is ${dbMaxCost}`;
        add({ name: "operation-cost", level: "warn", message });
      }
      const scan = nodesOf(result).find(isLargeScan);
      if (scan === undefined) continue;
      const message = `operation ${subject} of ${role} reads all rows of ${scan["Relation Name"]}`;
      add({ name: "operation-scan", level: "warn", message });
    }
  }
  return findings;
}

function nodesOf(node: ExplainNode): readonly ExplainNode[] {
  return [node, ...(node.Plans ?? []).flatMap(nodesOf)];
}

/** Returns whether a node compares each row of a large table. */
function isLargeScan(node: ExplainNode): boolean {
  return node["Node Type"] === "Seq Scan" && node["Filter"] !== undefined &&
    Number(node["Total Cost"]) > maxScanCost;
}
