/** Lines of a contract about permitted requests: what a role may send, and what it gets. @module */
import type {
  BrokenOperation,
  DescribedOperation,
} from "../../../api/response/openapi/described_operation.ts";
import type { Schema } from "../../../api/response/openapi/v3_schemas.ts";
import { DatabaseError } from "../../../base/errors/service_error.ts";
import type { Database } from "../../../database/database.ts";
import { explainOperation } from "./operation_plans.ts";

type OperationFact = readonly [subject: string, fact: string];

/** Returns a fact for each operation and role; `quoted` quotes names. */
export async function operationFacts(
  operations: readonly (BrokenOperation | DescribedOperation)[],
  database: Database,
  quoted: (name: string) => string,
): Promise<readonly OperationFact[]> {
  const facts: OperationFact[] = [];
  for (const operation of operations) {
    for (const role of operation.roles) {
      const subject = `operation ${quoted(operation.name)} ${quoted(role)}`;
      if ("problem" in operation) {
        facts.push([subject, `broken: ${operation.problem}`]);
        continue;
      }
      // A failure is also a fact, for example if the role lacks a privilege.
      const result = await explainOperation(operation, role, database);
      const failures = result instanceof DatabaseError ? [`fails ${result.failure.sqlstate}`] : [];
      facts.push([subject, [...shapesOf(operation), ...failures].join("; ")]);
    }
  }
  return facts;
}

function shapesOf({ parameters, body, result }: DescribedOperation): readonly string[] {
  const values = parameters.map(({ name, schema }) => `${name} ${shapeText(schema)}`);
  return [
    `(${values.join(", ")})`,
    ...body === null ? [] : [`body ${shapeText(body)}`],
    `result ${result === null ? "none" : shapeText(result)}`,
  ];
}

/** Returns a schema in short form: `[{id integer int32, name string|null text}]`. */
function shapeText(schema: Schema): string {
  const { type, format, properties, items, enum: labels, const: value, required } = schema;
  if (value !== undefined) return JSON.stringify(value);
  const name = [type].flat().join("|") || "any";
  if (properties !== undefined) {
    const members = Object.entries(properties as Record<string, Schema>).map(([key, each]) => {
      const isOptional = Array.isArray(required) && !required.includes(key);
      return `${JSON.stringify(key).slice(1, -1)}${isOptional ? "?" : ""} ${shapeText(each)}`;
    });
    return `{${members.join(", ")}}${name === "object" ? "" : `|${name}`}`;
  }
  if (items !== undefined) return `[${shapeText(items as Schema)}]`;
  const list = Array.isArray(labels) ? ` of ${labels.join("/")}` : "";
  return `${name}${typeof format === "string" ? ` ${format}` : ""}${list}`;
}
