/** The lines of a contract about permitted requests: what a role sends, and what it gets. @module */
import type { AccessCell } from "../access/cells.ts";
import type { BrokenOperation, DescribedOperation } from "../../../api/described_operation.ts";
import type { ReadNode } from "../../../api/plan/read/read_node.ts";
import type { Schema } from "../../../api/response/openapi/v3_schemas.ts";
import { nameText } from "../../../base/sql/name_text.ts";
import { type DataPlan, relationOf } from "../../../api/transaction/data_plan.ts";
import { needsOf, unknownColumns } from "../why/needs.ts";

/** Returns a fact for each operation and role; `quoted` quotes names. */
export function operationFacts(
  operations: readonly (BrokenOperation | DescribedOperation)[],
  cells: readonly AccessCell[],
  quoted: (name: string) => string,
): readonly (readonly [subject: string, fact: string])[] {
  return operations.flatMap((operation) =>
    operation.roles.map((role) => {
      const own = cells.filter((cell) => cell.role.replaceAll('"', "") === role);
      const fact = "problem" in operation
        ? `broken: ${operation.problem}`
        : [...shapesOf(operation), ...refusals(operation.plan, own)].join("; ");
      return [`operation ${quoted(operation.name)} ${quoted(role)}`, fact] as const;
    })
  );
}

function shapesOf({ parameters, body, result }: DescribedOperation): readonly string[] {
  const values = parameters.map(({ name, schema }) => `${name} ${shapeText(schema)}`);
  return [
    `(${values.join(", ")})`,
    ...body === null ? [] : [`body ${shapeText(body)}`],
    `result ${result === null ? "none" : shapeText(result)}`,
  ];
}

/** Returns a schema in short: `[{id integer int32, name string|null text}]`. */
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

/** Returns the privileges that a role lacks. */
function refusals(plan: DataPlan, cells: readonly AccessCell[]): readonly string[] {
  const relation = relationOf(plan);
  const lacks = (action: AccessCell["action"], name: string, columns: readonly string[]) => {
    const cell = cells.find((each) => each.action === action && each.relation === name);
    if (cell === undefined || cell.may === "no") return [`refused ${action} ${name}`];
    const granted = new Set(cell.columns);
    const missing = cell.columns === null ? [] : columns.filter((each) => !granted.has(each));
    return missing.map((each) => `refused ${action} ${name}.${each}`);
  };
  if (plan.kind === "call") {
    const { schema, name } = plan.call.routine;
    const isGranted = cells.some((cell) =>
      cell.action === "execute" && cell.may !== "no" &&
      cell.relation.startsWith(`${nameText(schema, name)}(`)
    );
    return isGranted ? [] : [`refused execute ${nameText(schema, name)}`];
  }
  const name = nameText(relation!.schema, relation!.name);
  const read = plan.kind === "read" ? plan.read : plan.mutate.read;
  return [
    ...unknownColumns(plan).map((column) => `unknown column ${name}.${nameText(column)}`),
    ...needsOf(plan).flatMap(({ action, columns }) =>
      lacks(action, name, columns.map((c) => nameText(c)))
    ),
    ...(read === null ? [] : embedColumns(read.root)).flatMap(([schema, table, columns]) =>
      lacks("select", nameText(schema, table), columns.map((c) => nameText(c)))
    ),
  ];
}

/** Lists the relations of embeds, and the columns that the answer has. */
function embedColumns(
  { embeds }: ReadNode,
): readonly (readonly [string, string, readonly string[]])[] {
  return embeds.flatMap(({ node }) => {
    const columns = node.items.flatMap((item) => item.kind === "column" ? item.field.column : []);
    const own = node.relation === null
      ? []
      : [[node.relation.schema, node.relation.name, columns] as const];
    return [...own, ...embedColumns(node)];
  });
}
