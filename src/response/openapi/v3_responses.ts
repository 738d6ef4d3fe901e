/** The responses and request bodies of an OpenAPI 3.1 document. @module */
import { descriptions } from "./about.ts";
import type { DescribedRelation } from "./model.ts";
import { componentKey, reference } from "./names.ts";
import { errorReference, rowReference } from "./v3_schemas.ts";
import type { Schema } from "./v3_types.ts";

const text: Schema = { type: "string" };

/** Reference to the response for errors. */
export const errorResponse = reference("components", "responses", "error.response");

/** Reference to the header that stands for the content of a response. */
export const tagHeader = { ETag: reference("components", "headers", "ETag") } as const;

/** Reference to the response to a client that has the body. */
export const notModified = reference("components", "responses", "unmodified.response");

export const sharedResponses = {
  "unmodified.response": {
    description: "The client has the body: `If-None-Match` lists its `ETag`",
    headers: tagHeader,
  },
  "error.response": {
    description: "An error",
    content: { "application/json": { schema: errorReference } },
  },
} as const;

export function rowsReference(relation: string) {
  return reference("components", "responses", componentKey(relation));
}

export function rowsResponse(
  { relation: { name } }: DescribedRelation,
  { vendor, bookmarkHeader }: { readonly vendor: string; readonly bookmarkHeader: string | null },
) {
  const bookmark = bookmarkHeader === null
    ? {}
    : { [bookmarkHeader]: reference("components", "headers", bookmarkHeader) };
  return [componentKey(name), {
    description: "Rows; with `select`, only what it names",
    headers: { ...pageHeaders, ...tagHeader, ...bookmark },
    content: resultContent(rowReference(name, "read"), { set: true, rows: true }, vendor),
  }] as const;
}

export const pageHeaders = {
  "Content-Range": reference("components", "headers", "Content-Range"),
  Link: reference("components", "headers", "Link"),
} as const;

export const sharedHeaders = {
  ETag: { description: "With etag-mode: version of the row, and hash of the body", schema: text },
  "Content-Range": {
    description: "First and last row, and their number where it was counted: `0-24/*`",
    schema: text,
  },
  Link: {
    description: "Other pages of a page by a cursor: `first`, `prev`, `next`, `last` (RFC 8288)",
    schema: text,
  },
} as const;

/** Returns the header with the bookmark of a response, by its name; nothing without standbys. */
export function bookmarkComponent(name: string | null) {
  return name === null ? {} : { [name]: { description: descriptions.newBookmark, schema: text } };
}

export interface ResultShape {
  readonly set: boolean;
  /** Whether it consists of rows instead of single values. */
  readonly rows: boolean;
}

export function resultContent(schema: Schema, { set, rows }: ResultShape, vendor: string) {
  const json = { schema: set ? { type: "array", items: schema } : schema };
  if (!rows) return { "application/json": json };
  const tree = `application/vnd.${vendor}`;
  return {
    "application/json": json,
    [`${tree}.array+json;nulls=stripped`]: { schema: { type: "array", items: { type: "object" } } },
    [`${tree}.object+json`]: { schema },
    [`${tree}.object+json;nulls=stripped`]: { schema: { type: "object" } },
    "application/x-ndjson": { schema: text },
    "text/csv": { schema: text },
  };
}

/** Returns the body of an insert: one row or several. */
export function insertBody(relation: string) {
  const schema = rowReference(relation, "insert");
  return {
    required: true,
    content: {
      "application/json": { schema: { oneOf: [schema, { type: "array", items: schema }] } },
      "application/x-ndjson": { schema: text },
      "application/x-www-form-urlencoded": { schema },
      "text/csv": { schema: text },
    },
  };
}

/** Returns the body of an update: one row, with `on` several, or a patch document. */
export function updateBody(relation: string) {
  const schema = rowReference(relation, "update");
  return {
    required: true,
    content: {
      "application/json": { schema: { oneOf: [schema, { type: "array", items: schema }] } },
      // Their schemas are those of the standards.
      "application/json-patch+json": {},
      "application/merge-patch+json": {},
      "application/vnd.svc.patch+json": {},
      "application/x-www-form-urlencoded": { schema },
    },
  };
}

export function rowBody(relation: string) {
  const schema = rowReference(relation, "insert");
  return {
    required: true,
    content: {
      "application/json": { schema },
      "application/x-www-form-urlencoded": { schema },
    },
  };
}
