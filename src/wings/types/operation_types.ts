/** Writes the types of permitted requests: parameters, body and result of each. @module */
import {
  type BrokenOperation,
  type DescribedOperation,
  isDescribed,
} from "../../api/described_operation.ts";
import type { Schema } from "../../api/response/openapi/v3_schemas.ts";
import { arrayType, objectType, textType, type TypeMember, union } from "./type_text.ts";

/** Returns the declaration of `Operations`; empty without operations. */
export function operationTypes(
  operations: readonly (BrokenOperation | DescribedOperation)[],
): string {
  const described = operations.filter(isDescribed);
  if (described.length === 0) return "";
  const members = described.map(({ name, parameters, body, result, method, path }): TypeMember => ({
    name,
    comment: `${method} ${path}`,
    type: objectType([
      {
        name: "Parameters",
        type: objectType(parameters.map(({ name, schema, fallback }) => ({
          name,
          type: schemaType(schema),
          optional: fallback !== undefined,
        }))),
      },
      { name: "Body", type: body === null ? "undefined" : schemaType(body) },
      { name: "Result", type: result === null ? "undefined" : schemaType(result) },
    ]),
  }));
  return `\nexport type Operations = ${objectType(members)};\n`;
}

const typesByName: ReadonlyMap<unknown, string> = new Map([
  ...["string", "boolean", "null"].map((name): [string, string] => [name, name]),
  ["integer", "number"],
  ["number", "number"],
]);

function schemaType(schema: Schema): string {
  const { type, properties, items, required, enum: labels, const: value } = schema;
  if (value !== undefined) return JSON.stringify(value);
  if (Array.isArray(labels)) {
    return union(labels.map((label) => label === null ? "null" : textType(label)));
  }
  const names: readonly unknown[] = [type].flat();
  const isNullable = names.length > 1 && names.includes("null");
  const kinds = isNullable ? names.filter((name) => name !== "null") : names;
  const plain = kinds.map((name) => {
    if (name === "array") return arrayType(schemaType((items ?? {}) as Schema));
    if (name !== "object" || properties === undefined) return typesByName.get(name) ?? "Json";
    return objectType(
      Object.entries(properties as Record<string, Schema>).map(([name, each]) => ({
        name,
        type: schemaType(each),
        optional: Array.isArray(required) && !required.includes(name),
      })),
    );
  });
  return union([...plain, ...isNullable ? ["null"] : []]);
}
