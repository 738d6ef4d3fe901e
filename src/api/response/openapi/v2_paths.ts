/** The paths of an OpenAPI 2.0 document, and the parameters to which they refer. @module */
import { queryName } from "../../request/url/filter_param.ts";
import {
  aboutTarget,
  argumentsSchema,
  described,
  reference,
  rowFilterKey,
  unlessEmpty,
} from "./names.ts";
import { descriptions } from "./about.ts";
import type { DescribedRelation } from "./model.ts";
import type { Parameter, Routine } from "../../../state/schema_cache/schema_cache.ts";
import { elementType, typeSpec } from "./types.ts";
import { batchSchema } from "./batch_schemas.ts";

export const rootPath = {
  get: {
    tags: ["Introspection"],
    summary: "OpenAPI description (this document)",
    produces: ["application/openapi+json", "application/json"],
    responses: { "200": { description: "OK" } },
  },
} as const;

export function batchPath(vendor: string, headers: V2Headers) {
  return {
    post: {
      tags: ["Batch"],
      summary: "Several operations in one transaction",
      consumes: [`application/vnd.${vendor}.batch+json`],
      produces: ["application/json"],
      parameters: [
        { name: "batch", in: "body", required: true, schema: batchSchema },
        ...optional(headers, "idempotencyKey"),
      ],
      responses: { "200": { description: "OK" } },
    },
  };
}

interface V2Form {
  /** Keys of the parameters, in order. `filters` and `body` become parameters of the relation. */
  readonly parameters: readonly string[];
  /** The responses; null for a response with rows of the relation. */
  readonly responses: unknown;
}

const noContent = { "204": { description: "No Content" } } as const;

const forms: Readonly<Record<"get" | "post" | "patch" | "delete", V2Form>> = {
  get: {
    parameters: [
      ...["filters", "select", "order", "range", "rangeUnit", "offset", "limit", "preferCount"],
      ...["ifMatch", "ifNoneMatch", "bookmark"],
    ],
    responses: null,
  },
  post: {
    parameters: ["body", "select", "preferPost", "idempotencyKey"],
    responses: { "201": { description: "Created" } },
  },
  patch: {
    parameters: ["filters", "body", "preferReturn", "idempotencyKey", "ifMatch"],
    responses: noContent,
  },
  delete: {
    parameters: ["filters", "preferReturn", "idempotencyKey", "ifMatch"],
    responses: noContent,
  },
};

/** Returns the path of a relation: reads, and all writes if the relation permits any write. */
export function relationPath(described: DescribedRelation, headers: V2Headers): unknown {
  const { relation, relation: { name }, writable } = described;
  const references = new Map([["filters", filterReferences(described)], ["body", [
    shared(bodyKey(name)),
  ]]]);
  const items = reference("definitions", name);
  const rows = {
    "200": { description: "OK", schema: { type: "array", items } },
    "206": { description: "Partial Content" },
  };
  const operations = Object.entries(forms).map(([method, form]) => [method, {
    tags: [name],
    ...aboutTarget(relation),
    parameters: form.parameters.flatMap((key) => references.get(key) ?? optional(headers, key)),
    responses: form.responses ?? rows,
  }]);
  return Object.fromEntries(writable ? operations : operations.slice(0, 1));
}

/** Names of the headers that the configuration enables; null for disabled headers. */
export type V2Headers = Readonly<
  Record<"bookmark" | "idempotencyKey" | "ifMatch" | "ifNoneMatch", string | null>
>;

/** Returns references to the parameters of enabled headers, and to all other parameters in `keys`. */
function optional(headers: Readonly<Record<string, string | null>>, ...keys: readonly string[]) {
  return keys.filter((key) => headers[key] !== null).map(shared);
}

function shared(key: string) {
  return reference("parameters", key);
}

export interface V2RoutineContext {
  readonly headers: V2Headers;
  readonly produces: readonly string[];
  readonly typeName: (type: string) => string;
}

/** Returns the path of a function: POST, and GET unless the function is volatile. */
export function routinePath(routine: Routine, context: V2RoutineContext): unknown {
  const { headers, produces, typeName } = context;
  const about = {
    tags: [`(rpc) ${routine.name}`],
    ...aboutTarget(routine),
    produces,
    responses: { "200": { description: "OK" } },
  };
  const [only] = routine.parameters;
  const unnamed = routine.parameters.length === 1 && only?.name === "" ? only : null;
  const inQuery = unnamed === null
    ? routine.parameters.map((parameter) => queryParameter(parameter, typeName(parameter.type)))
    : [];
  const inHeader = optional(headers, "ifNoneMatch", "bookmark");
  const get = { ...about, ...unlessEmpty("parameters", [...inQuery, ...inHeader]) };
  const body = unnamed === null
    ? { schema: argumentsSchema(routine, (type) => typeSpec(typeName(type))) }
    : { schema: typeSpec(typeName(unnamed.type)) };
  const post = {
    ...about,
    ...(unnamed === null ? {} : { consumes: [rawBodyType(unnamed.type)] }),
    parameters: [
      { name: "args", in: "body", required: true, ...body },
      shared("preferParams"),
      ...optional(headers, routine.volatility === "volatile" ? "idempotencyKey" : "bookmark"),
    ],
  };
  return routine.volatility === "volatile" || unnamed?.required ? { post } : { get, post };
}

/** Returns the media type of a body for the single unnamed argument. */
export function rawBodyType(type: string): string {
  return rawBodyTypes.get(type) ?? "application/json";
}

const rawBodyTypes: ReadonlyMap<string, string> = new Map([
  ["bytea", "application/octet-stream"],
  ["text", "text/plain"],
  ["xml", "text/xml"],
]);

/** Returns a query parameter. Arrays and JSON are literals. */
function queryParameter({ name, required, variadic }: Parameter, typeName: string): unknown {
  const { type, format } = typeSpec(typeName);
  const element = elementType(typeName);
  const members = variadic && element !== null
    ? { type: "array", collectionFormat: "multi", items: itemType(element) }
    : { type: type === undefined || type === "array" ? "string" : type, format };
  return { name: queryName(name), in: "query", required, ...members };
}

function itemType(element: string): unknown {
  const { type = "string", format } = typeSpec(element);
  return { type, format };
}

type V2ParameterEntry = readonly [key: string, parameter: unknown];

function prefer(...values: readonly string[]) {
  const enumeration = values.length === 0 ? {} : { enum: values };
  return {
    name: "Prefer",
    description: "Preference",
    required: false,
    in: "header",
    type: "string",
    ...enumeration,
  };
}

function text(name: string, place: "query" | "header", description: string) {
  return { name, description, required: false, in: place, type: "string" };
}

const returned = ["return=representation", "return=minimal", "return=none"] as const;
const resolved = ["resolution=ignore-duplicates", "resolution=merge-duplicates"] as const;
const pagination = "Limiting and Pagination";

/** Parameters that do not depend on the schema. */
export const fixedParameters: readonly V2ParameterEntry[] = [
  ["preferParams", prefer()],
  ["preferReturn", prefer(...returned)],
  ["preferCount", prefer("count=none")],
  ["preferPost", prefer(...returned, ...resolved)],
  ["select", text("select", "query", "Filtering Columns")],
  ["on_conflict", text("on_conflict", "query", "On Conflict")],
  ["order", text("order", "query", "Ordering")],
  ["range", text("Range", "header", pagination)],
  ["rangeUnit", { ...text("Range-Unit", "header", pagination), default: "items" }],
  ["offset", text("offset", "query", pagination)],
  ["limit", text("limit", "query", pagination)],
];

/** Returns the parameters of enabled headers. */
export function headerParameters(headers: V2Headers): readonly V2ParameterEntry[] {
  const entries = Object.entries(headers) as [keyof V2Headers, string | null][];
  return entries.flatMap(([key, name]) =>
    name === null ? [] : [[key, text(name, "header", descriptions[key])] as const]
  );
}

/** Returns the body of a relation, and a filter for each column that can be filtered. */
export function relationParameters(
  { relation, columns }: DescribedRelation,
): readonly V2ParameterEntry[] {
  const { name } = relation;
  const body = {
    name,
    description: name,
    required: false,
    in: "body",
    schema: reference("definitions", name),
  };
  const filters = columns.map(({ column }): V2ParameterEntry => [rowFilterKey(name, column.name), {
    name: queryName(column.name),
    ...described(column.comment),
    required: false,
    in: "query",
    type: "string",
  }]);
  return [[bodyKey(name), body], ...filters];
}

function bodyKey(relation: string): string {
  return `body.${relation}`;
}

function filterReferences({ relation, columns }: DescribedRelation): readonly unknown[] {
  return columns.map(({ column }) =>
    reference("parameters", rowFilterKey(relation.name, column.name))
  );
}
