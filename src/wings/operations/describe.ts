/** Describes operations by their plans: parameters, body and result as JSON Schemas. @module */
import { errors } from "../../base/errors/catalogue.ts";
import {
  type DescribedOperation,
  fillTemplate,
  type OperationParameter,
} from "../../api/response/openapi/described_operation.ts";
import { plan, readOf } from "../../api/plan/plan.ts";
import type { ReadItem, ReadNode } from "../../api/plan/read_node.ts";
import { printedType } from "../../api/plan/values/type_names.ts";
import { noBytes, type Payload } from "../../api/request/body/body_decoder.ts";
import type { PayloadFormat } from "../../api/request/body/payload.ts";
import {
  type OperandPlace,
  operandPlaces,
  withOperands,
} from "../../api/request/url/operand_places.ts";
import { splitQuery } from "../../api/request/url/query_string.ts";
import {
  columnSchema,
  namedTypeSchema,
  nullable,
  type Schema,
  typeSchema,
} from "../../api/response/openapi/v3_schemas.ts";
import { type DataPlan, relationOf } from "../../api/transaction/data_plan.ts";
import { freeName } from "../../base/lib/free_name.ts";
import type { Snapshot } from "../../state/app_state/snapshot.ts";
import type { Column, Relation, SchemaCache } from "../../state/schema_cache/schema_cache.ts";
import type { BodyPattern, MembersPattern } from "./body_pattern.ts";
import type { OperationLine } from "./operation_file.ts";
import { parseLine, rowsPart } from "./operation_index.ts";
import { encoded } from "./sent_operation.ts";

/** Describes an operation. Throws the errors of its plan. */
export function describeOperation(
  operation: OperationLine,
  snapshot: Snapshot,
): DescribedOperation {
  const masked = planOf(operation, snapshot);
  const list = new ParameterList(masked);
  const template = templateOf(operation, list);
  const { parameters } = list;
  const samples = Object.fromEntries(
    parameters.map(({ name, schema }) => [name, sampleOf(schema)]),
  );
  const query = fillTemplate({ template, parameters }, samples);
  const { name, roles, method, path, headers, line, body } = operation;
  return {
    ...{ name, roles, method, path, headers, line, template, parameters },
    plan: planOf({ ...operation, query }, snapshot),
    body: body === null ? null : bodySchema(body, masked),
    result: resultSchema(masked, snapshot.cache!),
  };
}

function planOf(operation: OperationLine, { cache, config }: Snapshot): DataPlan {
  // Cursors are removed: they have no example, because clients only know them after reading a page.
  const query = operation.query.replaceAll(/(?:^|&)(?:after|before)=[^&]*/g, "");
  const { request, reader } = parseLine({ ...operation, query }, config);
  const payload = reader === null ? null : examplePayload(operation.body, reader.format);
  const planned = plan({ ...request, payload }, cache!, config);
  if (planned.kind === "root" || planned.kind === "options") throw errors.invalidPath();
  return planned;
}

/** Returns an example of a body that matches the pattern. All such bodies have the same plan. */
function examplePayload(body: BodyPattern | null, format: PayloadFormat): Payload {
  const pattern = body?.kind === "members" ? body : null;
  const keys = (pattern?.members ?? []).map(({ name }) => name).sort();
  const moreKeys = 0;
  if (format === "form") {
    return { kind: "form", fields: keys.map((key) => [key, ""]), keys, moreKeys };
  }
  if (format === "raw") return { kind: "raw", type: "text", bytes: noBytes };
  const example = pattern === null ? {} : exampleOf(pattern);
  const text = new TextEncoder().encode(JSON.stringify(example));
  if (body?.kind === "patch") {
    return { kind: "patch", document: { operations: JSON.parse(body.steps) }, text };
  }
  const shape = pattern?.isList ? "array" : "object";
  return { kind: "json", text, shape, keys, moreKeys, source: format === "csv" ? "csv" : "json" };
}

function exampleOf({ isList, members }: MembersPattern): unknown {
  const row = Object.fromEntries(members.map(({ name, literal, inner }) => [
    name,
    inner === null ? JSON.parse(literal ?? "null") : exampleOf(inner),
  ]));
  return isList ? [row] : row;
}

/** The values of an operation that clients choose. */
class ParameterList {
  readonly parameters: OperationParameter[] = [];

  constructor(readonly planned: DataPlan) {}

  /** Adds a parameter. Returns its placeholder. */
  add(label: string, parameter: Omit<OperationParameter, "name">): string {
    const base = label.replaceAll(/\W+/g, "_").replace(/^_+/, "") || "value";
    const name = freeName(base, this.parameters.map((each) => each.name));
    this.parameters.push({ name, ...parameter });
    return `{${name}}`;
  }
}

/** Returns the query string with `{name}` in place of values, and adds these parameters. */
function templateOf({ query }: OperationLine, list: ParameterList): string {
  const params = splitQuery(query).map(({ name, value }) =>
    `${encoded(name)}=${encoded(valueTemplate(name, value ?? "", list))}`
  );
  return params.join("&");
}

function valueTemplate(name: string, value: string, list: ParameterList): string {
  if (rowsPart(name) !== null && value.startsWith("..")) {
    const schema = { type: "integer", minimum: 0, maximum: Number(value.slice(2)) };
    return list.add(name, { schema, ...name.endsWith("offset") && { fallback: 0 } });
  }
  if (value === "*") return list.add(name, { schema: argumentSchema(name, list.planned) });
  return withOperands(value, operandPlaces(value) ?? [], (place) => {
    const text = value.slice(...place.span);
    const [any, maxItems] = /^\*(?:\.\.(\d+))?$/.exec(text) ?? [];
    return any === undefined ? text : operandTemplate(name, place, { list, maxItems });
  });
}

function operandTemplate(
  name: string,
  { condition: { field, operand, operation } }: OperandPlace,
  { list, maxItems }: { readonly list: ParameterList; readonly maxItems: string | undefined },
): string {
  const label = field?.name ?? name;
  const isColumn = operand === undefined && (field === null || field.path.length === 0);
  const column = isColumn ? columnOf(relationIn(list.planned), label) : undefined;
  const isValue = operation.kind === "in" || operation.kind === "isdistinct" ||
    operation.kind === "compare" && operation.quantifier === null &&
      /^(?:n?eq|[gl]te?)$/.test(operation.operator);
  const items = isValue && column !== undefined
    ? columnSchema({ ...column, nullable: false })
    : { type: "string" };
  const isList = operation.kind === "in";
  const isQuoted = isList || field !== null;
  const limit = maxItems === undefined ? {} : { maxItems: Number(maxItems) };
  const schema = isList ? { type: "array", items, ...limit } : items;
  return list.add(label, { schema, isQuoted });
}

/** Returns a sample value of a type: the highest limit, or a text that the type accepts. */
function sampleOf({ type, maximum, enum: labels, format, items }: Schema): unknown {
  if (Array.isArray(labels)) return labels[0];
  if (type === "array") return [sampleOf(items as Schema)];
  return maximum ?? samples.get(format) ?? samples.get(type) ?? "x";
}

const samples: ReadonlyMap<unknown, unknown> = new Map<unknown, unknown>([
  ["boolean", true],
  ["integer", 1],
  ["number", 1],
  ["date", "2000-01-01"],
  ["date-time", "2000-01-01T00:00:00Z"],
  ["uuid", "00000000-0000-4000-8000-000000000000"],
]);

function argumentSchema(name: string, planned: DataPlan): Schema {
  const parameters = planned.kind === "call" ? planned.call.routine.parameters : [];
  const argument = parameters.find((parameter) => parameter.name === name);
  return argument === undefined ? { type: "string" } : typeSchema(argument.type);
}

function relationIn(planned: DataPlan): Relation | null {
  return planned.kind === "call" ? planned.call.read.relation : relationOf(planned);
}

function columnOf(relation: Relation | null, name: string): Column | undefined {
  return relation?.columns.find((column) => column.name === name);
}

function bodySchema(body: BodyPattern, planned: DataPlan): Schema {
  if (body.kind !== "members") return {};
  const parameters = planned.kind === "call" ? planned.call.routine.parameters : [];
  const types = new Map(parameters.map(({ name, type }) => [name, typeSchema(type)]));
  const relation = relationOf(planned);
  return membersSchema(body, (name) => {
    const column = columnOf(relation, name);
    return types.get(name) ?? (column === undefined ? {} : columnSchema(column));
  });
}

function membersSchema(
  { isList, members }: MembersPattern,
  schemaOf: (name: string) => Schema,
): Schema {
  const properties = Object.fromEntries(members.map(({ name, literal, inner }) => {
    if (inner !== null) return [name, membersSchema(inner, () => ({}))];
    return [name, literal === null ? schemaOf(name) : { const: JSON.parse(literal) }];
  }));
  const required = members.filter(({ isOptional }) => !isOptional).map(({ name }) => name);
  const object = { type: "object", properties, required, additionalProperties: false };
  return isList ? { type: "array", items: object } : object;
}

/** Returns the schema of a response; null for a response without a body or in another format than JSON. */
function resultSchema(planned: DataPlan, cache: SchemaCache): Schema | null {
  const { representation: { format } } = planned;
  if (format.kind !== "array" && format.kind !== "object") return null;
  const row = rowSchema(planned, cache);
  const isSet = planned.kind !== "call" || planned.call.routine.returns.set;
  return row !== null && isSet && format.kind === "array" ? { type: "array", items: row } : row;
}

function rowSchema(planned: DataPlan, cache: SchemaCache): Schema | null {
  if (planned.kind === "call") {
    const { void: isVoid, composite, typeSchema, typeName } = planned.call.routine.returns;
    if (isVoid) return null;
    if (!composite || planned.call.read.relation === null) {
      return namedTypeSchema(typeSchema, typeName);
    }
  }
  const read = planned.kind === "mutate" ? planned.mutate.read : readOf(planned);
  if (read === null || planned.kind === "mutate" && planned.mutate.returning === "none") {
    return null;
  }
  return nodeSchema(read.root, cache, relationIn(planned));
}

function nodeSchema(node: ReadNode, cache: SchemaCache, table: Relation | null = null): Schema {
  const relation = table ?? (node.relation === null ? null : cache.relation(node.relation) ?? null);
  const entries = node.embeds.filter(({ hasOutput }) => hasOutput).flatMap((embed) =>
    embedEntries(embed, nodeSchema(embed.node, cache))
  );
  const properties = Object.fromEntries([
    ...node.items.flatMap((item) => itemEntries(item, relation)),
    ...entries,
  ]);
  return { type: "object", properties, required: Object.keys(properties) };
}

function embedEntries({ key, shape }: ReadNode["embeds"][number], row: Schema): SchemaEntries {
  const list = (items: Schema) => ({ type: "array", items });
  if (shape === "array") return [[key, list(row)]];
  if (shape !== "spread" && shape !== "arrays") return [[key, nullable(row)]];
  return Object.entries(row["properties"] as Record<string, Schema>)
    .map(([name, each]) => [name, shape === "arrays" ? list(each) : nullable(each)]);
}

type SchemaEntries = readonly (readonly [name: string, schema: Schema])[];

function itemEntries(item: ReadItem, relation: Relation | null): SchemaEntries {
  switch (item.kind) {
    case "all":
      return (relation?.columns ?? []).map((column) => [column.name, columnSchema(column)]);
    case "column": {
      const { field: { column: name, path }, cast, key } = item;
      const column = columnOf(relation, name);
      if (cast !== null) return [[key, nullable(typeSchema(printedType(cast)))]];
      if (path.length > 0) {
        return [[key, path.at(-1)!.arrow === "->>" ? nullable({ type: "string" }) : {}]];
      }
      return [[key, column === undefined ? {} : columnSchema(column)]];
    }
    case "value":
      return [[item.key, valueSchema(item.value)]];
    default:
      return item satisfies never;
  }
}

function valueSchema(value: Extract<ReadItem, { kind: "value" }>["value"]): Schema {
  if (value.kind === "cast") return nullable(typeSchema(printedType(value.type)));
  return value.kind === "aggregate" && value.function === "count" ? { type: "integer" } : {};
}
