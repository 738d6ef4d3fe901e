/** Looks at descriptions of the API as a client does, and has them validated by a library that
 * knows nothing of the service. @module */
import { strictEqual } from "node:assert/strict";
import SwaggerParser from "@apidevtools/swagger-parser";

/** A document, or any part of one. */
// deno-lint-ignore no-explicit-any
export type Document = any;

/** Reads the document of a response, which must be a success. */
export async function documentOf(response: Response): Promise<Document> {
  strictEqual(response.status, 200);
  return await response.json();
}

/** Rejects unless a document follows the version of OpenAPI that it names. */
export async function validate(document: Document): Promise<void> {
  await SwaggerParser.validate(structuredClone(document));
}

/** Finds what a reference within the document names. */
export function resolve(document: Document, { $ref }: { readonly $ref: string }): Document {
  const tokens = $ref.slice(2).split("/").map((token) =>
    decodeURIComponent(token).replaceAll("~1", "/").replaceAll("~0", "~")
  );
  return tokens.reduce((part, token) => {
    if (!Object.hasOwn(part, token)) throw new Error(`${$ref} names nothing`);
    return part[token];
  }, document);
}

/** The parameters of an operation, references followed. */
export function parametersOf(document: Document, operation: Document): readonly Document[] {
  return (operation.parameters ?? []).map((parameter: Document) =>
    "$ref" in parameter ? resolve(document, parameter) : parameter
  );
}
