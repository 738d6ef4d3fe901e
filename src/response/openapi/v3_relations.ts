/** The paths of relations in an OpenAPI 3.1 document, with the operations that a relation permits
 * and the role has the privileges for. @module */
import { aboutTarget, queryName, reference } from "./names.ts";
import type { DescribedRelation } from "./model.ts";
import {
  changeHeaders,
  clausesOf,
  filterReference,
  filterReferences,
  type HeaderContext,
  readHeaders,
  shared,
  type SharedParameter,
  writeHeaders,
} from "./v3_parameters.ts";
import {
  errorResponse,
  insertBody,
  notModified,
  rowBody,
  rowsReference,
  updateBody,
} from "./v3_responses.ts";
import type { SchemaEntry } from "./v3_schemas.ts";
import { orderKey } from "../../plan/order_key.ts";

interface FilteredContext extends HeaderContext {
  readonly filters: readonly unknown[];
}

export function relationPath(described: DescribedRelation, context: HeaderContext): unknown {
  const filtered = { ...context, filters: filterReferences(described) };
  const { primaryKey } = described.relation;
  const methods = described.methods.filter((method) =>
    method !== "put" || primaryKey.every((column) => queryName(column) !== null)
  );
  return Object.fromEntries(
    methods.map((method) => [method, operations[method](described, filtered)]),
  );
}

const operations = {
  get: readOperation,
  post: insertOperation,
  put: putOperation,
  patch: updateOperation,
  delete: deleteOperation,
} as const;

function about(verb: string, { relation }: DescribedRelation) {
  const { name } = relation;
  return { operationId: `${verb}_${name}`, tags: [name], ...aboutTarget(relation) };
}

/** The parameters of an operation, in the order of the document. */
interface OperationParameters {
  readonly first?: readonly SharedParameter[];
  readonly filters?: readonly unknown[];
  readonly more?: readonly SharedParameter[];
  readonly headers: readonly SharedParameter[];
}

function parameters({ first = [], filters = [], more = [], headers }: OperationParameters) {
  return { parameters: [...first.map(shared), ...filters, ...[...more, ...headers].map(shared)] };
}

function readOperation(described: DescribedRelation, context: FilteredContext) {
  const rows = rowsReference(described.relation.name);
  return {
    ...about("read", described),
    ...parameters({
      first: ["select", "order", "limit"],
      filters: context.filters,
      more: ["offset", "and", "or", ...readClauses(described), "range", "rangeUnit", "preferRead"],
      headers: [...readHeaders(context), "ifMatch"],
    }),
    responses: { "200": rows, "206": rows, "304": notModified, "default": errorResponse },
  };
}

function readClauses({ relation, columns }: DescribedRelation): readonly SharedParameter[] {
  const names = columns.map(({ column }) => column.name);
  return clausesOf({ names, hasKey: orderKey(relation) !== null });
}

function insertOperation(described: DescribedRelation, context: HeaderContext) {
  const { name } = described.relation;
  return {
    ...about("insert", described),
    ...parameters({
      first: ["selectWritten", "columnsInserted", ...conflict, "preferInsert"],
      headers: writeHeaders(context),
    }),
    requestBody: insertBody(name),
    responses: {
      "200": rowsReference(name),
      "201": rowsReference(name),
      "default": errorResponse,
    },
  };
}

const conflict = [
  "on_conflict",
  "on_conflict.index",
  "on_conflict.columns",
  "on_conflict.where",
] as const;

function putOperation(described: DescribedRelation, context: HeaderContext) {
  const { name, primaryKey } = described.relation;
  return {
    ...about("put", described),
    ...parameters({
      first: ["selectWritten"],
      filters: primaryKey.map((column) => filterReference(name, column)),
      more: ["columns", "preferInsert"],
      headers: [...changeHeaders(context), "ifNoneMatch"],
    }),
    requestBody: rowBody(name),
    responses: written(name),
  };
}

/** Returns the clauses of a limited write. A column `lock` is filtered instead. */
function pickedRows({ columns }: DescribedRelation): readonly SharedParameter[] {
  const hasColumn = columns.some(({ column }) => column.name === "lock");
  return ["select", "order", "limit", ...hasColumn ? [] : ["lock"] as const];
}

function updateOperation(described: DescribedRelation, context: FilteredContext) {
  const { name } = described.relation;
  return {
    ...about("update", described),
    ...parameters({
      first: pickedRows(described),
      filters: context.filters,
      more: ["columns", "on", "and", "or", "preferUpdate"],
      headers: changeHeaders(context),
    }),
    requestBody: updateBody(name),
    responses: written(name),
  };
}

function deleteOperation(described: DescribedRelation, context: FilteredContext) {
  const { name } = described.relation;
  return {
    ...about("delete", described),
    ...parameters({
      first: pickedRows(described),
      filters: context.filters,
      more: ["and", "or", "preferWrite"],
      headers: changeHeaders(context),
    }),
    responses: written(name),
  };
}

function written(relation: string) {
  return {
    "200": rowsReference(relation),
    "204": { description: "Done; the response has no rows" },
    "default": errorResponse,
  };
}

const text = { type: "string" } as const;

/** Schema of the parameters in a body. A dot keeps its key apart from those of relations. */
export const querySchema: SchemaEntry = ["query.body", {
  type: "object",
  description: "Parameters of GET: `select`, `order`, `limit` and the like, and filters by column",
  properties: {
    select: text,
    order: text,
    limit: text,
    offset: text,
    and: text,
    or: text,
  },
  additionalProperties: text,
}];

const reading = ["range", "rangeUnit", "preferRead"] as const;

/** Returns the path `/<relation>/$query`. */
export function queryPath({ relation: { name } }: DescribedRelation, context: HeaderContext) {
  const rows = rowsReference(name);
  return {
    post: {
      operationId: `readByQuery_${name}`,
      tags: [name],
      summary:
        "Reads as GET does, with the parameters in the body; QUERY to the relation is the same",
      // POST has no `If-None-Match`.
      parameters: [
        ...reading,
        ...readHeaders(context).filter((header) => header !== "ifNoneMatch"),
      ].map(shared),
      requestBody: {
        required: true,
        content: {
          "application/x-www-form-urlencoded": {
            schema: reference("components", "schemas", querySchema[0]),
          },
        },
      },
      responses: { "200": rows, "206": rows, "default": errorResponse },
    },
  };
}
