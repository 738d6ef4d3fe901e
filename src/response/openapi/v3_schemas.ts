/** The schemas of an OpenAPI 3.1 document: rows that requests read or write, and errors. @module */
import { componentKey, described, reference, unlessEmpty } from "./names.ts";
import type { DescribedColumn, DescribedRelation } from "./model.ts";
import { columnSchema, constantDefault, nullable, type Schema } from "./v3_types.ts";

export type SchemaEntry = readonly [key: string, schema: Schema];

export type RowUse = "read" | "insert" | "update";

/** Suffixes of the components' keys. Their dot keeps them apart from relations' keys. */
const keySuffixes: Readonly<Record<RowUse, string>> = {
  read: "",
  insert: ".insert",
  update: ".update",
};

export function rowReference(relation: string, use: RowUse): Schema {
  return reference("components", "schemas", componentKey(relation) + keySuffixes[use]);
}

export const errorReference: Schema = reference("components", "schemas", "error.body");

export const errorSchema: SchemaEntry = ["error.body", {
  type: "object",
  description: "What went wrong",
  required: ["code", "message"],
  properties: {
    code: {
      type: "string",
      description: "SQLSTATE of the database's error, or code of the service's own",
    },
    message: { type: "string" },
    details: { type: ["string", "null"] },
    hint: { type: ["string", "null"] },
  },
}];

/** Returns the schemas of a relation's rows that its operations refer to. */
export function relationSchemas(described: DescribedRelation): readonly SchemaEntry[] {
  const { relation: { name }, methods } = described;
  const uses: readonly RowUse[] = [
    "read",
    ...(methods.includes("post") || methods.includes("put") ? ["insert"] as const : []),
    ...(methods.includes("patch") ? ["update"] as const : []),
  ];
  return uses.map((use) => [componentKey(name) + keySuffixes[use], rowSchema(described, use)]);
}

function rowSchema({ relation, columns }: DescribedRelation, use: RowUse): Schema {
  const written = use === "read" ? columns : columns.filter(({ column }) => !column.generated);
  const required = written.filter(({ column }) => isRequired(column, use));
  const properties = written.map((column) => [column.column.name, property(column, use)] as const);
  return {
    type: "object",
    ...described(relation.comment),
    ...(written.length === 0 ? {} : { properties: Object.fromEntries(properties) }),
    ...unlessEmpty("required", required.map(({ column }) => column.name)),
  };
}

/** Returns whether rows contain the column. A read row has all columns that `select` keeps. */
function isRequired(column: DescribedColumn["column"], use: RowUse): boolean {
  if (use === "insert") return !column.nullable && column.default === null;
  return use === "read";
}

function property({ column, description, hasCustomJson }: DescribedColumn, use: RowUse): Schema {
  const fallback = use === "update" || hasCustomJson ? undefined : constantDefault(column);
  const isOptional = use === "insert" && fallback !== undefined;
  return {
    ...(hasCustomJson ? {} : columnSchema(column)),
    ...described(isOptional ? withDefaultNote(description, fallback) : description),
    ...(use === "read" && column.generated ? { readOnly: true } : {}),
    ...(use === "read" && fallback !== undefined ? { default: fallback } : {}),
  };
}

/** Generators of clients make properties with the keyword `default` required. */
function withDefaultNote(description: string | null, fallback: unknown): string {
  const note = `Default: \`${JSON.stringify(fallback)}\``;
  return description === null ? note : `${description}\n\n${note}`;
}

export function argumentsSchema(
  comment: string | null,
  parameters: readonly {
    readonly name: string;
    readonly schema: Schema;
    readonly required: boolean;
  }[],
): Schema {
  const required = parameters.filter((parameter) => parameter.required);
  return {
    type: "object",
    ...described(comment),
    ...(parameters.length === 0 ? {} : {
      properties: Object.fromEntries(
        parameters.map(({ name, schema }) => [name, nullable(schema)]),
      ),
    }),
    ...unlessEmpty("required", required.map(({ name }) => name)),
  };
}
