/** Describes operations by their plans: parameters, body and result as JSON Schemas. @module */
import { errors } from "../../base/errors/catalogue.ts";
import {
  type DescribedOperation,
  fillTemplate,
  type OperationParameter,
  type SampleOf,
} from "../../api/described_operation.ts";
import { plan, readOf } from "../../api/plan/plan.ts";
import type { ReadItem, ReadNode } from "../../api/plan/read/read_node.ts";
import { printedType } from "../../api/plan/values/type_names.ts";
import type { Payload } from "../../api/request/body/body_decoder.ts";
import { parseHead } from "../../api/request/parse_request.ts";
import { operatorWords } from "../../api/request/url/operators.ts";
import { isFilter } from "../../api/request/url/query_params.ts";
import { splitQuery } from "../../api/request/url/query_string.ts";
import {
  columnSchema,
  namedTypeSchema,
  nullable,
  type Schema,
  typeSchema,
} from "../../api/response/openapi/v3_schemas.ts";
import { type DataPlan, relationOf } from "../../api/transaction/data_plan.ts";
import type { Config } from "../../state/config/options.ts";
import type { Relation, SchemaCache } from "../../state/schema_cache/schema_cache.ts";
import type { BodyMember, BodyPattern } from "./body_pattern.ts";
import { encoded, maskedConditions } from "./mask.ts";
import { rawRequestOf } from "./matcher.ts";
import type { OperationLine } from "./operation_file.ts";

interface DescriptionContext {
  readonly cache: SchemaCache;
  readonly config: Config;
  /** Puts values into the plan. Default: the plan has no values. */
  readonly sampleOf: SampleOf | undefined;
}

/** Describes an operation. Throws the errors of its plan. */
export function describeOperation(
  operation: OperationLine,
  context: DescriptionContext,
): DescribedOperation {
  const { cache, sampleOf } = context;
  const masked = planOf(operation, rawRequestOf(operation).query, context);
  const { template, parameters } = parametersOf(operation, masked);
  const samples = parameters.map((each) => [each.name, sample(each, relationIn(masked), sampleOf)]);
  const planned = sampleOf === undefined ? masked : planOf(
    operation,
    fillTemplate({ template, parameters }, Object.fromEntries(samples)),
    context,
  );
  const { name, roles, method, path, headers, line } = operation;
  return {
    ...{ name, roles, method, path, headers, line, template, parameters, plan: planned },
    body: operation.body === null ? null : bodySchema(operation.body, planned),
    result: resultSchema(planned, cache),
  };
}

function planOf(
  operation: OperationLine,
  filled: string,
  { cache, config }: DescriptionContext,
): DataPlan {
  // A cursor is known only after a page was read.
  const query = filled.replaceAll(/(?:^|&)(?:after|before)=[^&]*/g, "");
  const { request, reader } = parseHead({ ...rawRequestOf(operation), query }, config);
  const payload = reader === null ? null : examplePayload(operation.body, reader.format);
  const planned = plan({ ...request, payload }, cache, config);
  if (planned.kind === "root" || planned.kind === "options") throw errors.invalidPath();
  return planned;
}

/** Returns a value of a parameter: the highest limit, a value of the column, or one of its type. */
function sample(
  { schema, column }: OperationParameter,
  relation: Relation | null,
  sampleOf: SampleOf | undefined,
): unknown {
  const found = relation === null || column === null ? null : sampleOf?.(relation, column) ?? null;
  const { type, maximum, enum: labels, format, items } = schema;
  if (found !== null) return items === undefined ? found : [found];
  if (Array.isArray(labels)) return labels[0];
  if (type === "array") {
    return [
      sample({ schema: items as Schema, column: null, name: "", isQuoted: false }, null, undefined),
    ];
  }
  if (type === "boolean") return true;
  if (type === "integer" || type === "number") return maximum ?? 1;
  return typeof format === "string" ? samplesByFormat.get(format) ?? "x" : "x";
}

const samplesByFormat: ReadonlyMap<string, string> = new Map([
  ["date", "2000-01-01"],
  ["date-time", "2000-01-01T00:00:00Z"],
  ["uuid", "00000000-0000-4000-8000-000000000000"],
]);

/** Returns a body with the plan of the pattern. */
function examplePayload(body: BodyPattern | null, format: string): Payload {
  const members = body?.kind === "members" ? body.members : [];
  const keys = members.map(({ name }) => name).sort();
  if (format === "form") {
    return { kind: "form", fields: keys.map((key) => [key, ""]), keys, moreKeys: 0 };
  }
  if (format === "raw") return { kind: "raw", type: "text", bytes: new Uint8Array() };
  const shape = body?.kind === "members" && body.isList ? "array" : "object";
  const example = exampleObject(members);
  const json = JSON.stringify(shape === "array" ? [example] : example);
  const text = new TextEncoder().encode(json);
  if (body?.kind === "patch") {
    return { kind: "patch", document: { operations: JSON.parse(body.steps) }, text };
  }
  const source = format === "csv" ? "csv" : "json";
  return { kind: "json", text, shape, keys, moreKeys: 0, source };
}

function exampleObject(members: readonly BodyMember[]): unknown {
  return Object.fromEntries(members.map(({ name, literal, inner }) => {
    const value = inner === null ? JSON.parse(literal ?? "null") : exampleObject(inner.members);
    return [name, inner?.isList ? [value] : value];
  }));
}

/** Returns the query string with `{name}` in place of values, and the parameters of these names. */
function parametersOf({ query }: OperationLine, planned: DataPlan) {
  const parameters: OperationParameter[] = [];
  const add = (name: string, schema: Schema, others: Partial<OperationParameter> = {}) => {
    const base = name.replaceAll(/\W+/g, "_").replace(/^_+/, "") || "value";
    let free = base;
    for (let number = 2; parameters.some((each) => each.name === free); number++) {
      free = `${base}_${number}`;
    }
    parameters.push({ name: free, schema, isQuoted: false, column: null, ...others });
    return `{${free}}`;
  };
  const template = splitQuery(query).map(({ name, value }) =>
    `${encoded(name)}=${encoded(valueTemplate(name, value ?? "", { add, planned }))}`
  );
  return { template: template.join("&"), parameters };
}

interface TemplateContext {
  readonly add: (name: string, schema: Schema, others?: Partial<OperationParameter>) => string;
  readonly planned: DataPlan;
}

function valueTemplate(name: string, value: string, { add, planned }: TemplateContext): string {
  const max = /^\.\.(\d+)$/.exec(value)?.[1];
  if (max !== undefined) {
    const isOffset = name.endsWith("offset");
    return add(
      name,
      { type: "integer", minimum: 0, maximum: Number(max) },
      isOffset ? { fallback: 0 } : {},
    );
  }
  if (value === "*") return add(name, argumentSchema(name, planned));
  const whole = isFilter(value);
  const text = whole ? `${name}.${value}` : value;
  if (!whole && maskedConditions(text, "[,)]|$") !== text) return value;
  const filled = text.replaceAll(wildcard, (_, field, operator, list, maxItems) => {
    const schema = operandSchema(field, operator, planned);
    const items = { type: "array", items: schema, ...maxItems && { maxItems: Number(maxItems) } };
    return list === undefined
      ? `${field}${operator}${add(field, schema, { isQuoted: !whole, column: field })}`
      : `${field}.in.(${add(field, items, { isQuoted: true, column: field })})`;
  });
  return whole ? filled.slice(name.length + 1) : filled;
}

/** A condition on a value: `price.gte.*`, or on a list: `id.in.(*..9)`. */
const wildcard = new RegExp(
  "([^.,()]+)(?:(\\.(?:not\\.)?(?:" + operatorWords.join("|") + ")(?:\\(\\w+\\))?\\.)\\*(?![^,)])" +
    "|\\.in\\.(\\()\\*(?:\\.\\.(\\d+))?\\))",
  "g",
);

function argumentSchema(name: string, planned: DataPlan): Schema {
  const parameters = planned.kind === "call" ? planned.call.routine.parameters : [];
  const found = parameters.find((parameter) => parameter.name === name);
  return found === undefined ? { type: "string" } : typeSchema(found.type);
}

function operandSchema(field: string, operator: string | undefined, planned: DataPlan): Schema {
  const isPlain = operator === undefined ||
    /^\.(?:not\.)?(?:n?eq|[gl]te?|isdistinct)\.$/.test(operator);
  const column = isPlain ? columnOf(relationIn(planned), field.trim()) : undefined;
  return column === undefined ? { type: "string" } : columnSchema({ ...column, nullable: false });
}

function relationIn(planned: DataPlan): Relation | null {
  return planned.kind === "call" ? planned.call.read.relation : relationOf(planned);
}

function columnOf(relation: Relation | null, name: string) {
  return relation?.columns.find((column) => column.name === name);
}

function bodySchema(body: BodyPattern, planned: DataPlan): Schema {
  if (body.kind !== "members") return {};
  const arguments_ = planned.kind === "call" ? planned.call.routine.parameters : [];
  const types = new Map(arguments_.map(({ name, type }) => [name, typeSchema(type)]));
  const relation = planned.kind === "call" ? null : relationOf(planned);
  const object = membersSchema(body.members, (name) => {
    const column = columnOf(relation, name);
    return types.get(name) ?? (column === undefined ? {} : columnSchema(column));
  });
  return body.isList ? { type: "array", items: object } : object;
}

function membersSchema(
  members: readonly BodyMember[],
  schemaOf: (name: string) => Schema,
): Schema {
  const entries = members.map(({ name, literal, inner }): [string, Schema] => {
    if (literal !== null) return [name, { const: JSON.parse(literal) }];
    if (inner === null) return [name, schemaOf(name)];
    const object = membersSchema(inner.members, () => ({}));
    return [name, inner.isList ? { type: "array", items: object } : object];
  });
  const required = members.filter(({ isOptional }) => !isOptional).map(({ name }) => name);
  const properties = Object.fromEntries(entries);
  return { type: "object", properties, required, additionalProperties: false };
}

/** Returns the schema of an answer; null for one without a body, and for other formats than JSON. */
function resultSchema(planned: DataPlan, cache: SchemaCache): Schema | null {
  const { representation: { format } } = planned;
  if (format.kind !== "array" && format.kind !== "object") return null;
  if (planned.kind === "call") {
    const { returns } = planned.call.routine;
    if (returns.void) return null;
    const isRow = returns.composite && planned.call.read.relation !== null;
    const one = isRow
      ? nodeSchema(planned.call.read.root, cache, planned.call.read.relation)
      : namedTypeSchema(returns.typeSchema, returns.typeName);
    return returns.set && format.kind === "array" ? { type: "array", items: one } : one;
  }
  const read = planned.kind === "mutate" ? planned.mutate.read : readOf(planned);
  if (read === null || planned.kind === "mutate" && planned.mutate.returning === "none") {
    return null;
  }
  const row = nodeSchema(read.root, cache, relationOf(planned));
  return format.kind === "array" ? { type: "array", items: row } : row;
}

function nodeSchema(node: ReadNode, cache: SchemaCache, known: Relation | null = null): Schema {
  const relation = known ?? (node.relation === null ? null : cache.relation(node.relation) ?? null);
  const entries = node.items.flatMap((item) => itemEntries(item, relation));
  for (const { node: inner, key, shape, hasOutput } of node.embeds) {
    if (!hasOutput) continue;
    const schema = nodeSchema(inner, cache);
    if (shape === "spread" || shape === "arrays") {
      const columns = Object.entries(schema["properties"] as Record<string, Schema>);
      entries.push(
        ...columns.map((
          [name, each],
        ): [string, Schema] => [
          name,
          shape === "arrays" ? { type: "array", items: each } : nullable(each),
        ]),
      );
    } else {entries.push([
        key,
        shape === "array" ? { type: "array", items: schema } : nullable(schema),
      ]);}
  }
  const properties = Object.fromEntries(entries);
  return { type: "object", properties, required: Object.keys(properties) };
}

function itemEntries(item: ReadItem, relation: Relation | null): [string, Schema][] {
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
