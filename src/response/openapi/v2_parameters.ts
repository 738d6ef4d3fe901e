/** The parameters that operations of an OpenAPI 2.0 document refer to. @module */
import {
  bookmarkDescription,
  ifMatchDescription,
  ifNoneMatchDescription,
  keyDescription,
} from "./about.ts";
import { queryName, reference, rowFilterKey } from "./names.ts";
import type { DescribedRelation } from "./model.ts";
import { described } from "./texts.ts";

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

/** Headers that operations have if the configuration turns them on. */
export interface V2Headers {
  /** Whether writes may have an `Idempotency-Key`. */
  readonly keyed: boolean;
  /** Whether preconditions count. */
  readonly tagged: boolean;
  /** Name of the header with bookmarks; null without standbys. */
  readonly bookmarkHeader: string | null;
}

/** Returns the parameters of the headers that are turned on. */
export function headerParameters(
  { keyed, tagged, bookmarkHeader }: V2Headers,
): readonly V2ParameterEntry[] {
  return [
    ...(bookmarkHeader === null
      ? []
      : [["bookmark", text(bookmarkHeader, "header", bookmarkDescription)] as const]),
    ...(keyed
      ? [["idempotencyKey", text("Idempotency-Key", "header", keyDescription)] as const]
      : []),
    ...(tagged
      ? [
        ["ifMatch", text("If-Match", "header", ifMatchDescription)] as const,
        ["ifNoneMatch", text("If-None-Match", "header", ifNoneMatchDescription)] as const,
      ]
      : []),
  ];
}

/** Returns the body of a relation, and a filter for each column that requests can filter by. */
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
  const filters = columns.flatMap(({ column }): V2ParameterEntry[] => {
    const parameter = queryName(column.name);
    if (parameter === null) return [];
    return [[rowFilterKey(name, column.name), {
      name: parameter,
      ...described(column.comment),
      required: false,
      in: "query",
      type: "string",
    }]];
  });
  return [[bodyKey(name), body], ...filters];
}

export function bodyKey(relation: string): string {
  return `body.${relation}`;
}

export function filterReferences({ relation, columns }: DescribedRelation): readonly unknown[] {
  return columns
    .filter(({ column }) => queryName(column.name) !== null)
    .map(({ column }) => reference("parameters", rowFilterKey(relation.name, column.name)));
}
