/**
 * The paths of relations in an OpenAPI 3.1 document, with the operations that a relation permits.
 *
 * @module
 */
import type { DescribedRelation } from "./model.ts";
import { summaryOf } from "./texts.ts";
import {
  filterReference,
  filterReferences,
  type HeaderContext,
  shared,
  type SharedParameter,
  writeHeaders,
} from "./v3_parameters.ts";
import { errorResponse, insertBody, rowBody, rowsReference, updateBody } from "./v3_responses.ts";
import { queryName } from "./names.ts";

/** Context of relations' operations. */
export type PathContext = HeaderContext;

interface FilteredContext extends PathContext {
  /** References to filters. */
  readonly filters: readonly unknown[];
}

/** Returns the path of a relation. */
export function relationPath(described: DescribedRelation, context: PathContext): unknown {
  const { insertable, updatable, deletable, primaryKey } = described.relation;
  const puts = insertable && updatable && primaryKey.length > 0 &&
    primaryKey.every((column) => queryName(column) !== null);
  const filtered = { ...context, filters: filterReferences(described) };
  return {
    get: readOperation(described, filtered),
    ...(insertable ? { post: insertOperation(described, context) } : {}),
    ...(puts ? { put: putOperation(described, context) } : {}),
    ...(updatable ? { patch: updateOperation(described, filtered) } : {}),
    ...(deletable ? { delete: deleteOperation(described, filtered) } : {}),
  };
}

function about(verb: string, { relation: { name, comment } }: DescribedRelation) {
  return { operationId: `${verb}_${name}`, tags: [name], ...summaryOf(comment) };
}

function parameters(
  filters: readonly unknown[],
  names: readonly SharedParameter[],
  profile: readonly SharedParameter[],
) {
  return { parameters: [...filters, ...[...names, ...profile].map(shared)] };
}

function readOperation(described: DescribedRelation, { filters, profiled }: FilteredContext) {
  const rows = rowsReference(described.relation.name);
  return {
    ...about("read", described),
    ...parameters(
      filters,
      [...reading, ...clausesOf(described), ...ranges, "preferRead"],
      profiled ? ["readProfile"] : [],
    ),
    responses: { "200": rows, "206": rows, "default": errorResponse },
  };
}

const reading = ["select", "order", "limit", "offset", "and", "or"] as const;
const ranges = ["range", "rangeUnit"] as const;

/** Returns the clauses of a read, without those that have the name of a filter. */
function clausesOf({ columns }: DescribedRelation): readonly SharedParameter[] {
  const names = new Set(columns.map(({ column }) => column.name));
  return (["distinct", "having"] as const).filter((name) => !names.has(name));
}

function insertOperation(described: DescribedRelation, context: PathContext) {
  const { name } = described.relation;
  return {
    ...about("insert", described),
    ...parameters(
      [],
      ["select", "columns", "on_conflict", "preferInsert"],
      writeHeaders(context),
    ),
    requestBody: insertBody(name),
    responses: {
      "200": rowsReference(name),
      "201": rowsReference(name),
      "default": errorResponse,
    },
  };
}

function putOperation(described: DescribedRelation, context: PathContext) {
  const { name, primaryKey } = described.relation;
  return {
    ...about("put", described),
    ...parameters(
      primaryKey.map((column) => filterReference(name, column)),
      ["select", "columns", "preferInsert"],
      writeHeaders(context),
    ),
    requestBody: rowBody(name),
    responses: written(name),
  };
}

function updateOperation(described: DescribedRelation, context: FilteredContext) {
  const { name } = described.relation;
  return {
    ...about("update", described),
    ...parameters(
      context.filters,
      ["select", "columns", "on", "order", "limit", "and", "or", "preferUpdate"],
      writeHeaders(context),
    ),
    requestBody: updateBody(name),
    responses: written(name),
  };
}

function deleteOperation(described: DescribedRelation, context: FilteredContext) {
  const { name } = described.relation;
  return {
    ...about("delete", described),
    ...parameters(
      context.filters,
      ["select", "order", "limit", "and", "or", "preferWrite"],
      writeHeaders(context),
    ),
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
